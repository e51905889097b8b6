// Reads each request as CloudEvents' own SDK for JavaScript does, and prints what it says on a line of JSON.
const { createServer } = require("node:http");
const { HTTP } = require("cloudevents");

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const event = HTTP.toEvent({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    if (Array.isArray(event)) throw new Error("an array of events");
    const { time, ...said } = event.toJSON();
    console.log(JSON.stringify(said));
  } catch (err) {
    console.log(JSON.stringify({ error: String(err) }));
  }
  response.writeHead(204).end();
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
