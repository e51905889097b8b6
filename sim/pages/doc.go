// Package pages reads real SQLite tables, drawn from seeds, page by page. It belongs to the simulation
// (docs/simulation.md), whose own table cannot find what is wrong with a statement. It holds a test only.
package pages
