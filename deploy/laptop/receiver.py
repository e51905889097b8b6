"""Prints what is posted to it, and accepts it: the receiver of deploy/compose.laptop.yaml. `receiver.py PORT [ADDRESS]`."""

import http.server
import sys


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print(self.path, body.decode("utf-8", "replace"), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


port = int(sys.argv[1])
address = sys.argv[2] if len(sys.argv) > 2 else "0.0.0.0"
server = http.server.ThreadingHTTPServer((address, port), Receiver)
print("receiver: listening on port", server.server_address[1], flush=True)
server.serve_forever()
