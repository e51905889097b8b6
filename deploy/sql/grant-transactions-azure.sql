-- For source__late_commits=overlap on Azure SQL Database (docs/late-commits.md): to see how old other sessions' transactions are. It is
-- a right over the whole database's activity; without it a transaction that is open for longer than source__late_window can be
-- missed. Not needed with a rowversion cursor (exact) or an outbox. On Basic, S0, S1 and elastic pools it is not enough: there the
-- identity needs the server role ##MS_ServerStateReader##.
GRANT VIEW DATABASE STATE TO [$(identity)];
