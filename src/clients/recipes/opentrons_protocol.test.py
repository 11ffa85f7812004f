# Runs the protocol as a robot does, on a stand-in for Opentrons' classes, or compares the stand-in with these classes:
#
#   opentrons_protocol.test.py run PROTOCOL PARAMETERS [simulating]    prints each call as a line of JSON, and how the run ended
#   opentrons_protocol.test.py compare PROTOCOL CHECKOUT               prints the differences
#
# At each delay of a run a line is read: "cancel" cancels the run, as somebody at the robot does.
import ast
import json
import os
import sys

DISPLAY_NAME_MAX_LEN = 30
DESCRIPTION_MAX_LEN = 100
UNIT_MAX_LEN = 10


def say(*said):
    print(json.dumps(said), flush=True)


class RunStoppedError(Exception):
    pass


class ParameterContext:
    def __init__(self, values):
        self._values = values

    def _add(self, type_, display_name, variable_name, default, choices, bounds=(None, None), description=None, unit=None):
        value = self._values.get(variable_name, default)
        assert variable_name.isidentifier() and not hasattr(self, variable_name)
        assert len(display_name) <= DISPLAY_NAME_MAX_LEN
        assert len(description or "") <= DESCRIPTION_MAX_LEN and len(unit or "") <= UNIT_MAX_LEN
        assert type(default) is type_ and type(value) is type_
        assert choices or None not in bounds, "a parameter has choices, or a minimum and a maximum"
        if choices:
            assert bounds == (None, None)
            assert value in [choice["value"] for choice in choices] and all(len(choice["display_name"]) <= DISPLAY_NAME_MAX_LEN for choice in choices)
        else:
            assert bounds[0] <= value <= bounds[1]
        setattr(self, variable_name, value)

    def add_int(self, display_name, variable_name, default, minimum=None, maximum=None, choices=None, description=None, unit=None):
        self._add(int, display_name, variable_name, default, choices, (minimum, maximum), description, unit)

    def add_str(self, display_name, variable_name, default, choices=None, description=None):
        self._add(str, display_name, variable_name, default, choices, description=description)


class Labware:
    def __init__(self, load_name):
        self._load_name = load_name

    def __getitem__(self, key):
        return f"{key} of {self._load_name}"


class InstrumentContext:
    def transfer(self, volume, source, dest, trash=True, **kwargs):
        say("transfer", volume, source, dest)


class ProtocolContext:
    def __init__(self, params, simulating):
        self._params = params
        self._simulating = simulating

    @property
    def params(self):
        return self._params

    def is_simulating(self):
        return self._simulating

    def load_labware(self, load_name, location, label=None, namespace=None, version=None, adapter=None):
        return Labware(load_name)

    def load_trash_bin(self, location):
        pass

    def load_instrument(self, instrument_name, mount=None, tip_racks=None, replace=False, liquid_presence_detection=None):
        return InstrumentContext()

    def pause(self, msg=None):
        say("pause", msg)

    def delay(self, seconds=0, minutes=0, msg=None):
        say("delay", seconds + 60 * minutes)
        if not self._simulating and sys.stdin.readline().strip() == "cancel":
            raise RunStoppedError("The run was cancelled.")


def run(protocol, values, *simulating):
    # Robots execute the text twice, and no module has it.
    text = open(protocol).read()
    params = ParameterContext(json.loads(values))
    space = {}
    exec(text, space)
    space["add_parameters"](params)
    space = {}
    exec(text, space)
    try:
        space["run"](ProtocolContext(params, simulating == ("simulating",)))
        say("completed")
    except Exception as error:
        say("failed", type(error).__name__, str(error))


def parsed(path):
    with open(path) as file:
        return ast.parse(file.read())


def functions_of(tree, name):
    (found,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return {node.name: node for node in found.body if isinstance(node, ast.FunctionDef)}


def signature_of(function):
    """Names and defaults of the parameters."""
    args = function.args
    defaults = [None] * (len(args.args) - len(args.defaults)) + [ast.literal_eval(one) for one in args.defaults]
    return [(arg.arg, repr(default)) for arg, default in zip(args.args, defaults)] + ([f"**{args.kwarg.arg}"] if args.kwarg else [])


def level_of(function):
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "requires_version":
            return [ast.literal_eval(one) for one in decorator.args]
    return [0, 0]


def compare(protocol, checkout):
    api = f"{checkout}/api/src/opentrons"
    files = {"ProtocolContext": "protocol_context", "InstrumentContext": "instrument_context", "ParameterContext": "_parameter_context"}
    text = open(protocol).read()
    space = {}
    exec(text, space)
    level = [int(part) for part in space["requirements"]["apiLevel"].split(".")]
    here = parsed(__file__)
    for name, file in files.items():
        real = functions_of(parsed(f"{api}/protocol_api/{file}.py"), name)
        for method, ours in functions_of(here, name).items():
            if method.startswith("_"):
                continue
            if method not in real:
                say(f"{name} has no {method}")
            elif signature_of(real[method]) != signature_of(ours):
                say(f"{name}.{method}", signature_of(real[method]), signature_of(ours))
            elif level_of(real[method]) > level:
                say(f"{name}.{method} is of API level {level_of(real[method])}")
    limits = {}
    exec("\n".join(line for line in open(f"{api}/protocols/parameters/validation.py") if "_MAX_LEN = " in line and line[0] != " "), limits)
    for limit in ("DISPLAY_NAME_MAX_LEN", "DESCRIPTION_MAX_LEN", "UNIT_MAX_LEN"):
        if limits[limit] != globals()[limit]:
            say(limit, limits[limit])
    versions = {}
    for node in parsed(f"{api}/protocols/api_support/definitions.py").body:
        if isinstance(node, ast.Assign):
            versions[node.targets[0].id] = [ast.literal_eval(one) for one in node.value.args]
    if not versions["MIN_SUPPORTED_VERSION_FOR_FLEX"] <= level <= versions["MAX_SUPPORTED_VERSION"]:
        say("a Flex does not run", level)
    pipettes = open(f"{api}/protocol_api/validation.py").read()
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr == "load_labware" and not os.path.isdir(f"{checkout}/shared-data/labware/definitions/2/{node.args[0].value}"):
            say("there is no labware", node.args[0].value)
        if node.func.attr == "load_instrument" and f'"{node.args[0].value}"' not in pipettes:
            say("there is no pipette", node.args[0].value)
    say("compared")


{"run": run, "compare": compare}[sys.argv[1]](*sys.argv[2:])
