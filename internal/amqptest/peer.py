"""An AMQP 1.0 peer for tests, on Apache Qpid Proton: what Azure Service Bus and Event Hubs are on the wire for a sender.

It takes any SASL mechanism without TLS, answers put-token at $cbs, and accepts what is sent to any address. Rules make
an address fail. It is steered by lines of JSON on standard input, each answered by one line on standard output, and ends
with standard input:

    {"op": "set", "address": "orders", "rule": {...}}   replaces the rule, of later attaches and transfers
    {"op": "received", "address": "orders"}             the messages that were accepted, in order
    {"op": "stats"}                                     connections, transfers, links by address, the audiences of tokens
    {"op": "cut"}                                       ends every TCP connection without a word

A rule: attach {condition, description}: links are refused. max: the link's max-message-size. do: what becomes of a
transfer: accept, hold (no disposition, ever), reject {condition}, release, modify, detach {condition}, cut. only: ids of the
messages that `do` is for. times: for how many transfers. token: the status that put-token for the address answers.
"""

import base64
import json
import os
import socket
import sys
import threading

from proton import Condition, Data, Delivery, Endpoint, Handler, Message, Terminus, int32
from proton.reactor import ApplicationEvent, Container, EventInjector

# Described types (AMQP 1.0, part 3.2): a data section, and whatever a message can begin with.
DATA = 0x75


def messages(raw):
    """The messages of a transfer: itself, or those that a batch (message format 0x80013700) has as its data sections."""
    envelope = Message()
    envelope.decode(raw)
    inner = [s for s in sections(raw) if s[:2] == b"\x00\x53"]
    if not inner:
        return [(envelope, None)]
    result = []
    for one in inner:
        m = Message()
        m.decode(one)
        result.append((m, envelope))
    return result


def sections(raw):
    """The contents of the data sections."""
    data, found = Data(), []
    while raw:
        data.clear()
        raw = raw[data.decode(raw):]
        data.rewind()
        data.next()
        section = data.get_object()
        if section.descriptor == DATA:
            found.append(bytes(section.value))
    return found


def version():
    try:
        from importlib.metadata import version as of
        return of("python-qpid-proton")
    except Exception:  # Debian's package may bring no metadata
        from cproton import PN_VERSION_MAJOR, PN_VERSION_MINOR
        return "%d.%d" % (PN_VERSION_MAJOR, PN_VERSION_MINOR)


def describe(m, envelope):
    body = m.body
    if isinstance(body, str):
        body = body.encode()
    return {
        "id": m.id, "group": m.group_id, "subject": m.subject, "content_type": str(m.content_type or ""),
        "properties": dict(m.properties or {}),
        "annotations": {str(k): v for k, v in (m.annotations or {}).items()},
        "body": base64.b64encode(bytes(body or b"")).decode(),
        "batch": envelope is not None,
        "envelope": {str(k): v for k, v in (envelope.annotations or {}).items()} if envelope is not None else {},
    }


class Peer(Handler):
    def __init__(self, port):
        super().__init__()
        self.port = port
        self.rules, self.kept, self.links, self.audiences = {}, {}, {}, []
        self.connections, self.transfers = [], 0
        self.opened = 0
        self.held = []  # deliveries without a disposition: Proton must not collect them

    def on_reactor_init(self, event):
        event.container.listen("127.0.0.1:%d" % self.port)
        print(json.dumps({"ready": True, "proton": version()}), flush=True)

    # ---- endpoints

    def on_connection_remote_open(self, event):
        self.opened += 1
        self.connections.append(event.connection)
        event.connection.open()

    def on_session_remote_open(self, event):
        event.session.open()

    def on_connection_remote_close(self, event):
        event.connection.close()

    def on_session_remote_close(self, event):
        event.session.close()

    def on_link_remote_close(self, event):
        event.link.close()

    def on_connection_unbound(self, event):
        if event.connection in self.connections:
            self.connections.remove(event.connection)

    def on_link_remote_open(self, event):
        link = event.link
        link.source.copy(link.remote_source)
        link.snd_settle_mode, link.rcv_settle_mode = link.remote_snd_settle_mode, link.remote_rcv_settle_mode
        if link.is_sender:  # of answers, for $cbs
            link.target.copy(link.remote_target)
            link.open()
            return
        address = link.remote_target.address
        rule = self.rules.get(address, {})
        self.links[address] = self.links.get(address, 0) + 1
        if "attach" in rule:  # refused: an attach without a target, and its end (AMQP 1.0, part 2, section 2.6.3)
            link.target.type = Terminus.UNSPECIFIED
            link.open()
            link.condition = Condition(rule["attach"]["condition"], rule["attach"].get("description"))
            link.close()
            return
        link.target.copy(link.remote_target)
        link.max_message_size = rule.get("max", 262144)
        link.open()
        link.flow(1000)

    # ---- transfers

    def on_delivery(self, event):
        delivery, link = event.delivery, event.link
        if link.is_sender:
            if delivery.settled:
                delivery.settle()
            return
        if not delivery.readable or delivery.partial:
            return
        raw = link.recv(delivery.pending)
        link.advance()
        link.flow(1)
        if link.remote_target.address == "$cbs":
            delivery.update(Delivery.ACCEPTED)
            delivery.settle()
            self.put_token(link, raw)
            return
        self.transfers += 1
        self.transfer(link, delivery, raw)

    def transfer(self, link, delivery, raw):
        address = link.remote_target.address
        inner = messages(raw)
        rule = self.rules.get(address, {})
        do = rule.get("do", "accept")
        if "only" in rule and not any(m.id in rule["only"] for m, _ in inner):
            do = "accept"
        if do != "accept" and "times" in rule:
            if rule["times"] <= 0:
                do = "accept"
            rule["times"] -= 1
        if do == "accept":
            self.kept.setdefault(address, []).extend(describe(m, e) for m, e in inner)
            delivery.update(Delivery.ACCEPTED)
        elif do == "hold":
            self.held.append(delivery)
            return
        elif do == "cut":
            self.cut(link.connection)
            return
        elif do == "detach":
            link.condition = Condition(rule["condition"], rule.get("description"))
            link.close()
            return
        elif do == "reject":
            if rule.get("condition"):
                delivery.local.condition = Condition(rule["condition"], rule.get("description"))
            delivery.update(Delivery.REJECTED)
        elif do == "release":
            delivery.update(Delivery.RELEASED)
        elif do == "modify":
            delivery.update(Delivery.MODIFIED)
        delivery.settle()

    def put_token(self, link, raw):
        request = Message()
        request.decode(raw)
        audience = request.properties["name"]
        self.audiences.append([audience, request.properties["type"], bool(request.body)])
        status = 202
        for address, rule in self.rules.items():
            if "token" in rule and ("/" + address) in audience:
                status = rule["token"]
        answer = Message(correlation_id=request.id, properties={
            "status-code": int32(status), "status-description": "Accepted" if status < 300 else "refused by the test's rule"})
        reply = link.session.connection.link_head(Endpoint.LOCAL_ACTIVE | Endpoint.REMOTE_ACTIVE)
        while reply is not None:
            if reply.is_sender and reply.session == link.session:
                reply.send(answer)
                return
            reply = reply.next(Endpoint.LOCAL_ACTIVE | Endpoint.REMOTE_ACTIVE)

    def cut(self, connection):
        transport = connection.transport
        selectable = transport and transport._selectable
        if selectable:
            selectable._delegate.shutdown(socket.SHUT_RDWR)

    # ---- steering

    def on_command(self, event):
        command = event.subject
        op, answer = command["op"], {}
        if op == "set":
            self.rules[command["address"]] = command["rule"]
        elif op == "received":
            answer = {"messages": self.kept.get(command["address"], [])}
        elif op == "stats":
            answer = {"connections": self.opened, "transfers": self.transfers, "links": self.links, "audiences": self.audiences}
        elif op == "cut":
            for connection in list(self.connections):
                self.cut(connection)
        print(json.dumps(answer), flush=True)


def steer(injector):
    for line in sys.stdin:
        injector.trigger(ApplicationEvent("command", subject=json.loads(line)))
    os._exit(0)


def main():
    peer = Peer(int(sys.argv[1]))
    container = Container(peer)
    container.container_id = "rowrelay-test-peer"
    injector = EventInjector()
    container.selectable(injector)
    threading.Thread(target=steer, args=(injector,), daemon=True).start()
    container.run()


if __name__ == "__main__":
    main()
