"""Checks Bicep files as far as that goes without the Bicep compiler, which no registry carries: `check.py [--types DIR] FILE…`.

Syntax (tree-sitter's grammar), names (declared, used, once), modules (their file, parameters and outputs), functions and decorators.
It prints, as JSON, the faults, and each property that is set on a resource, "type@version path". With --types, the directory
`generated` of Azure/bicep-types-az, each of these is looked up in the type index that the compiler uses: it must exist and be
writable, required ones must be there, and literals must be among those that are allowed.
"""

import glob
import json
import os
import sys

import tree_sitter
import tree_sitter_bicep

FUNCTIONS = set(
    "concat contains empty first guid items join last length map padLeft range reduce filter replace resourceGroup resourceId split "
    "startsWith string subscription subscriptionResourceId take tenant toLower toObject toUpper trim union uniqueString".split()
)
DECORATORS = set("allowed description maxLength maxValue metadata minLength minValue secure sealed".split())
REQUIRED, READ_ONLY = 1, 2
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bicep.language()))


class Module:
    """One file: its tree and its declarations."""

    def __init__(self, path, faults):
        self.path, self.faults = path, faults
        with open(path, "rb") as f:
            self.text = f.read()
        self.root = PARSER.parse(self.text).root_node
        self.declared = {}  # name: (kind, node)
        self.used = set()
        self.uses = []  # (type@version, [path], existing)
        for node in every(self.root):
            if node.is_error or node.is_missing:
                self.fault(node, "syntax error")
        for node in self.root.named_children:
            kind, _, tail = node.type.partition("_")
            if tail == "declaration" and kind != "output":
                name = self.of(first(node, "identifier", "compatible_identifier"))
                if name in self.declared:
                    self.fault(node, f"{name} is declared twice")
                self.declared[name] = (kind, node)

    def of(self, node):
        return self.text[node.start_byte : node.end_byte].decode()

    def fault(self, node, what):
        self.faults.append(f"{os.path.relpath(self.path)}:{node.start_point[0] + 1}: {what}")

    def parameters(self):
        """Each parameter: does it have to be given?"""
        return {n: len(values(node)) == 0 and not self.of(node).rstrip().endswith("?") for n, (k, node) in self.declared.items() if k == "parameter"}

    def outputs(self):
        return {self.of(n.named_children[0]) for n in self.root.named_children if n.type == "output_declaration"}

    def check(self):
        for node in self.root.named_children:
            if node.type == "decorators":
                for call in children(node, "decorator"):
                    name = self.of(call.named_children[0].child_by_field_name("function") or call.named_children[0])
                    if name not in DECORATORS:
                        self.fault(call, f"no decorator {name}")
                continue
            self.expression(node, frozenset(), declaration=True)
            if node.type == "module_declaration":
                self.module(node)
            if node.type == "resource_declaration":
                self.resource(node)
        for name, (kind, node) in self.declared.items():
            if kind in ("parameter", "variable", "type") and name not in self.used:
                self.fault(node, f"{kind} {name} is not used")

    def expression(self, node, local, declaration=False):
        """Resolves the names below a node."""
        if node.type in ("identifier", "compatible_identifier") and node.is_named:
            name = self.of(node)
            if name not in local:
                self.used.add(name)
                if name not in self.declared:
                    self.fault(node, f"{name} is not declared")
            return
        if node.type == "for_statement":
            body = node.child_by_field_name("body")
            names = [c for c in node.named_children if c != body]
            local = local | {self.of(i) for n in names[:-1] for i in every(n) if i.type in ("identifier", "loop_variable", "loop_enumerator")}
            self.expression(names[-1], local)
            self.expression(body, local)
            return
        if node.type == "lambda_expression":
            *names, body = node.named_children
            self.expression(body, local | {self.of(n) for n in names})
            return
        if node.type == "member_expression" and node.child_by_field_name("object").type == "lambda_expression":
            return self.expression(node.child_by_field_name("object"), local)  # the grammar binds `x => x.y` that way round
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            if function.type == "identifier" and self.of(function) not in FUNCTIONS:
                self.fault(function, f"no function {self.of(function)}")
        for i, child in enumerate(node.named_children):
            key = node.type == "object_property" and i == 0 and child.type in ("identifier", "compatible_identifier")
            name = declaration and i == 0
            function = node.type == "call_expression" and child == node.child_by_field_name("function") and child.type == "identifier"
            if child.type == "member_expression" and node.type != "member_expression":
                self.output(child)
            if not (key or name or function or child.type == "property_identifier"):
                self.expression(child, local)

    def output(self, node):
        """module.outputs.name must be an output of that module."""
        words = self.of(node).split(".")
        kind, declared = self.declared.get(words[0], (None, None))
        if kind == "module" and (len(words) < 3 or words[1] != "outputs" or words[2] not in self.target(declared).outputs()):
            self.fault(node, f"{words[0]} has no output {'.'.join(words[1:])}")

    def target(self, node):
        return Module(os.path.join(os.path.dirname(self.path), literal(self, first(node, "string"))), [])

    def module(self, node):
        path = os.path.join(os.path.dirname(self.path), literal(self, first(node, "string")))
        if not os.path.exists(path):
            return self.fault(node, f"there is no file {path}")
        wanted = self.target(node).parameters()
        given = properties(self, properties(self, body_of(node)).get("params"))
        for name in given.keys() - wanted.keys():
            self.fault(node, f"{path} has no parameter {name}")
        for name in wanted.keys() - given.keys():
            if wanted[name]:
                self.fault(node, f"{path} needs the parameter {name}")

    def resource(self, node):
        typ = literal(self, first(node, "string"))
        existing = any(self.of(c) == "existing" for c in node.children)
        self.uses.append((typ, body_of(node), existing))


def every(node):
    yield node
    for child in node.children:
        yield from every(child)


def children(node, *types):
    return [c for c in node.named_children if c.type in types]


def first(node, *types):
    return children(node, *types)[0]


def values(declaration):
    """The default of a parameter declaration, which has a name and a type before it."""
    return declaration.named_children[2:]


def literal(module, node):
    """The text of a string without interpolation, else None."""
    if node.type != "string" or children(node, "interpolation"):
        return None
    return "".join(module.of(c) for c in node.named_children)


def body_of(node):
    """The object of a resource or module, whether in a loop or under a condition."""
    return [n for n in every(node) if n.type == "object"][0]


def properties(module, node):
    """The properties of an object, by name; those with an interpolated name stand for all: '*'."""
    found = {}
    for p in children(node, "object_property") if node is not None else []:
        key, *value = p.named_children
        name = literal(module, key) or "*" if key.type == "string" else module.of(key)
        found[name] = value[-1]
    return found


def objects(module, node):
    """The objects that an expression may stand for: itself, the arms of ?:, the arguments of union()."""
    if node.type == "parenthesized_expression":
        yield from objects(module, node.named_children[0])
    elif node.type == "ternary_expression":
        yield from objects(module, node.child_by_field_name("consequence"))
        yield from objects(module, node.child_by_field_name("alternative"))
    elif node.type == "call_expression" and module.of(node.child_by_field_name("function")) == "union":
        for argument in node.child_by_field_name("arguments").named_children:
            yield from ((n, True) for n, _ in objects(module, argument))
    else:
        yield node, False


def paths(module, node, prefix=""):
    """Every path that an object sets."""
    for name, value in properties(module, node).items():
        path = f"{prefix}.{name}" if prefix else name
        yield path
        for inner, _ in objects(module, value):
            if inner.type == "object":
                yield from paths(module, inner, path)
            for element in children(inner, "object") if inner.type == "array" else []:
                yield from paths(module, element, path + "[]")


class Index:
    """Azure's published resource types."""

    def __init__(self, directory):
        self.directory, self.files = directory, {}

    def find(self, typ):
        """The file of a resource type, and the type. Files are SERVICE/PROVIDER/VERSION/types.json."""
        name, _, version = typ.partition("@")
        provider = name.split("/")[0].lower()
        for file in glob.glob(os.path.join(self.directory, "*", provider, version, "types.json")):
            if file not in self.files:
                with open(file) as f:
                    self.files[file] = json.load(f)
            for found in self.files[file]:
                if found["$type"] == "ResourceType" and found["name"].lower() == typ.lower():
                    return file, found
        return None, None

    def follow(self, file, ref):
        return file, self.files[file][int(ref.removeprefix("#/"))]

    def check(self, module, typ, node, existing):
        file, resource = self.find(typ)
        if resource is None:
            return module.fault(node, f"no resource type {typ}")
        file, body = self.follow(file, resource["body"]["$ref"])
        if existing:
            for name in properties(module, node).keys() - {"name", "parent", "scope"}:
                module.fault(node, f"an existing resource sets {name}")
            return
        self.value(module, file, body, node, typ, top=True)

    def value(self, module, file, want, node, path, top=False, partial=False):
        kind = want["$type"]
        for inner, joined in objects(module, node):
            text = literal(module, inner)
            if module.of(inner) == "null" or kind == "AnyType":
                continue
            if inner.type == "object" and kind in ("ObjectType", "DiscriminatedObjectType"):
                self.object(module, file, want, inner, path, top, partial or joined)
            elif inner.type == "array" and kind == "ArrayType":
                f, item = self.follow(file, want["itemType"]["$ref"])
                for element in inner.named_children:
                    self.value(module, f, item, element, path + "[]")
            elif kind == "UnionType":
                allowed = [self.follow(file, e["$ref"])[1] for e in want["elements"]]
                if not any(fits(e["$type"], e, inner, text) for e in allowed):
                    module.fault(inner, f"{path} is {module.of(inner)}, not one of {[e.get('value', e['$type']) for e in allowed]}")
            elif not fits(kind, want, inner, text):
                module.fault(inner, f"{path} is a {inner.type}, and {kind} is wanted")

    def object(self, module, file, want, node, path, top, partial):
        given = properties(module, node)
        known = dict(want.get("properties") or want.get("baseProperties") or {})
        if want["$type"] == "DiscriminatedObjectType":
            chosen = literal(module, given[want["discriminator"]]) if want["discriminator"] in given else None
            if chosen not in want["elements"]:
                return module.fault(node, f"{path}: {want['discriminator']} is {chosen!r}, not one of {sorted(want['elements'])}")
            file, element = self.follow(file, want["elements"][chosen]["$ref"])
            known |= element["properties"]
            want = element
        for name, value in given.items():
            if top and name in ("parent", "scope", "dependsOn"):
                continue
            if name in known:
                if known[name].get("flags", 0) & READ_ONLY:
                    module.fault(value, f"{path}.{name} is read-only")
                f, inner = self.follow(file, known[name]["type"]["$ref"])
                self.value(module, f, inner, value, f"{path}.{name}")
            elif not want.get("additionalProperties"):
                module.fault(value, f"{path} has no property {name}: {', '.join(sorted(known))}")
        for name, p in known.items():
            if p.get("flags", 0) & REQUIRED and name not in given and not partial:
                module.fault(node, f"{path} needs {name}")


def fits(kind, want, node, text):
    """Does a literal have the type? What is no literal, nobody but the compiler can say."""
    shape = {"object": "ObjectType", "array": "ArrayType", "boolean": "BooleanType", "number": "IntegerType", "string": "StringType"}.get(node.type)
    if kind == "StringLiteralType":
        return shape is None or shape == "StringType" and text in (None, want["value"])
    return shape is None or shape == kind


def main(arguments):
    index = None
    if arguments[:1] == ["--types"]:
        index, arguments = Index(arguments[1]), arguments[2:]
    faults, uses = [], set()
    for path in arguments:
        module = Module(path, faults)
        module.check()
        for typ, node, existing in module.uses:
            uses.add(typ)
            uses.update(f"{typ} {p}" for p in paths(module, node))
            if index:
                index.check(module, typ, node, existing)
    parameters = {p: Module(p, []).parameters() for p in arguments}
    json.dump({"faults": faults, "uses": sorted(uses), "parameters": parameters}, sys.stdout, indent=1)


main(sys.argv[1:])
