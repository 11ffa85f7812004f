"""A simulated instrument for the bridges beside this file: it goes on when they end, and has one port, on TCP or a pseudo-terminal.

python3 instrument.py tcp|pty prints where its port is, and then a line for each thing that it does. Lines on standard input: unplug, plug.
A line of its port and the answer: I, its serial number · RUN WHAT SECONDS, OK or BUSY · STATE, RUNNING or IDLE · STOP, STOPPED · HEAT T, OK ·
T, the temperature and its target · W, the weight.
"""

import os
import socket
import sys
import threading
import time
import tty
from functools import partial

ends, target, plugged, lock = 0.0, 20.0, threading.Event(), threading.Lock()
plugged.set()


def answer(line):
    global ends, target
    word, *rest = line.split() or [""]
    with lock:
        if word == "I":
            return "I A-0815"
        if word == "RUN":
            if time.monotonic() < ends:
                return "BUSY"
            ends = time.monotonic() + float(rest[1])
            print(f"begins {rest[0]}", flush=True)
            return "OK"
        if word == "STATE":
            return "RUNNING" if time.monotonic() < ends else "IDLE"
        if word == "STOP":
            print("stops what runs" if time.monotonic() < ends else "stops", flush=True)
            ends, target = 0.0, 20.0
            return "STOPPED"
        if word == "HEAT":
            target = float(rest[0])
            return "OK"
        return {"T": f"T {target} {target}", "W": "W 12.50 g"}.get(word, "WHAT")


def serve(read, write):
    begun = b""
    while plugged.is_set():
        piece = read()
        if not piece:
            return
        *lines, begun = (begun + piece).split(b"\n")
        for line in lines:
            write(answer(line.decode()).encode() + b"\n")


def on_tcp():
    server = socket.create_server(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    while True:
        connection = server.accept()[0]
        if not plugged.is_set():
            connection.close()
            continue
        connections.append(connection)
        threading.Thread(target=serve, args=(partial(received, connection), connection.sendall), daemon=True).start()


def received(connection):
    try:
        return connection.recv(4096)
    except OSError:
        return b""


def on_pty():
    instrument, port = os.openpty()
    tty.setraw(port)
    print(os.ttyname(port), flush=True)
    serve(lambda: os.read(instrument, 4096), lambda text: os.write(instrument, text))


connections = []
threading.Thread(target=on_pty if sys.argv[1] == "pty" else on_tcp, daemon=True).start()
for command in sys.stdin:
    if command.strip() == "plug":
        plugged.set()
        print("plugged", flush=True)
        continue
    plugged.clear()
    for connection in connections:
        # What it is doing goes on.
        connection.shutdown(socket.SHUT_RDWR)
    connections.clear()
    print("unplugged", flush=True)
