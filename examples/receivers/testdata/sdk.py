"""Reads each request as CloudEvents' own SDK for Python does, and prints what it says on a line of JSON."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer

from cloudevents.core.bindings.http import HTTPMessage, from_http_event


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = from_http_event(HTTPMessage(headers=dict(self.headers), body=body))
            said = {name: str(value) for name, value in event.get_attributes().items() if name != "time"}
            print(json.dumps({**said, "data": event.get_data()}), flush=True)
        except Exception as err:
            print(json.dumps({"error": f"{err!r}"}), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


server = HTTPServer(("127.0.0.1", 0), Receiver)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
