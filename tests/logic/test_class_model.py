"""Any sequence of class definitions, against a model of what the language's own classes would do."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from language import World

CLASSES = ("A", "B", "C")
METHODS = ("m", "n")
K = "state('k', () => ({ all: [], seen: [] }))"


@dataclass(frozen=True)
class Definition:
    """A class: `base` is the name of one that comes before it; a method answers its tag, and what `super` says."""

    name: str
    base: str | None
    version: int
    methods: tuple[tuple[str, bool], ...]
    migrates: bool
    tag: int

    @property
    def source(self) -> str:
        heritage = f" extends {self.base}" if self.base else ""
        body = " ".join(
            f"{m}() {{ return '{self.name}{self.tag}'"
            + (f" + (super.{m}?.() ?? '-')" if supers else "")
            + " }"
            for m, supers in self.methods
        )
        migrate = "migrate: (x, { from, to }) => { k.seen.push([x.id, from, to]) }" if self.migrates else ""
        made = f"static s = '{self.name}{self.tag}'; clone(id) {{ return Object.assign(new {self.name}(), {{ id }}) }}"
        return (
            f"const k = {K}; define('{self.name}', class {self.name}{heritage} {{ {made} {body} }}, "
            f"{{ version: {self.version}, {migrate} }})"
        )


@dataclass
class Instance:
    id: int
    of: str
    versions: dict[str, int]


@dataclass
class Model:
    """What should be: definitions by name, instances in the order of creation."""

    known: dict[str, Definition] = field(default_factory=dict)
    all: list[Instance] = field(default_factory=list)
    seen: list[list[int]] = field(default_factory=list)

    def chain(self, name: str | None) -> list[str]:
        names = []
        while name is not None:
            names.append(name)
            name = self.known[name].base
        return names

    def define(self, new: Definition) -> bool:
        """Whether it is accepted."""
        old = self.known.get(new.name)
        if old is not None and old.version != new.version:
            behind = [i for i in self.all if i.versions.get(new.name, new.version) != new.version]
            if behind and not new.migrates:
                return False
            for instance in behind:
                self.seen.append([instance.id, instance.versions[new.name], new.version])
                instance.versions[new.name] = new.version
        self.known[new.name] = new
        return True

    def make(self, name: str) -> Instance:
        versions = {each: self.known[each].version for each in self.chain(name)}
        instance = Instance(max((i.id for i in self.all), default=0) + 1, name, versions)
        self.all.append(instance)
        return instance

    def says(self, name: str, method: str) -> str | None:
        chain = self.chain(name)
        for at, each in enumerate(chain):
            supers = dict(self.known[each].methods).get(method)
            if supers is None:
                continue
            own = f"{each}{self.known[each].tag}"
            if not supers:
                return own
            rest = chain[at + 1] if at + 1 < len(chain) else None
            return own + ((self.says(rest, method) if rest else None) or "-")
        return None

    def view(self, instance: Instance) -> list[object]:
        chain = self.chain(instance.of)
        return [
            instance.id,
            [self.says(instance.of, method) for method in METHODS],
            [name in chain for name in sorted(self.known)],
            instance.versions[instance.of],
            f"{instance.of}{self.known[instance.of].tag}",
        ]


def view_of(names: list[str]) -> str:
    ask = ", ".join(f"x.{m}?.() ?? null" for m in METHODS)
    kinds = ", ".join(f"x instanceof {name}" for name in names)
    return f"{K}.all.map((x) => [x.id, [{ask}], [{kinds}], versionOf(x), x.constructor.s])"


STEPS = st.one_of(
    st.builds(
        Definition,
        name=st.sampled_from(CLASSES),
        base=st.sampled_from((None, *CLASSES)),
        version=st.integers(1, 3),
        methods=st.lists(st.tuples(st.sampled_from(METHODS), st.booleans()), unique_by=lambda m: m[0]).map(
            tuple
        ),
        migrates=st.booleans(),
        tag=st.integers(0, 9),
    ),
    st.tuples(st.just("make"), st.sampled_from(CLASSES)),
    st.tuples(st.just("clone"), st.integers(0, 9)),
    st.tuples(st.just("drop"), st.integers(0, 9)),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=12))
def test_classes_do_what_the_model_says(steps: list[object]) -> None:
    world, model = World(), Model()
    world.develop(f"{K}.born = 0")
    for step in steps:
        take(world, model, step)
        names = sorted(model.known)
        assert world.value(view_of(names)) == [model.view(instance) for instance in model.all]
        assert world.value(f"{K}.seen") == model.seen


def take(world: World, model: Model, step: object) -> None:
    """Do one step to both, if it can be done."""
    match step:
        case Definition() as new:
            is_below = new.base is None or (new.base in model.known and new.base < new.name)
            if not is_below:
                return
            outcome = world.attempt(new.source)
            assert (outcome.verdict != "rejected") is model.define(new), outcome.reason
        case ("make", str(name)) if name in model.known:
            made = model.make(name)
            world.develop(f"{K}.all.push(Object.assign(new {name}(), {{ id: {made.id} }}))")
        case ("clone", int(at)) if at < len(model.all):
            made = model.make(model.all[at].of)
            world.develop(f"{K}.all.push({K}.all[{at}].clone({made.id}))")
        case ("drop", int(at)) if at < len(model.all):
            model.all.pop(at)
            world.develop(f"{K}.all.splice({at}, 1)")
