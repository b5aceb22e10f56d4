import { useEffect, useState } from "preact/hooks";
import { readAllPages } from "../all_pages";
import { findObstacle, onlyTypes, read } from "../api";
import { completeObject, completeRelation, describeMeta, type StoredObject } from "../completion";
import { writeObjectLines, writeWarrantLines } from "../export";
import { useLoaded } from "../loading";
import { readObject, writeObject, type Warrant } from "../names";
import { ExampleButton } from "../parts/example_button";
import type { ReadLines } from "../parts/export_table";
import { CompletedField } from "../parts/field";
import { Filters } from "../parts/filters";
import { Icon } from "../parts/icons";
import { ImportFile } from "../parts/import_file";
import { ObjectLink } from "../parts/names";
import { Numbers } from "../parts/numbers";
import { Busy, Empty, Fault, Notice } from "../parts/notice";
import { Pager } from "../parts/pager";
import { ChangeButton, Obstacle } from "../parts/permission";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { NewObject } from "../parts/object_dialogs";
import { NewWarrant } from "../parts/warrant_form";
import { WarrantTable } from "../parts/warrant_table";
import { adjust, asOf, go, link, route } from "../route";
import { listTypes, objectTypes, type Page, type PageQuery } from "../schema";
import * as words from "../words";

const PAGE_SIZE = 50;
const WRITE = { scope: "write" } as const;

const FIRST_PAGE = { next: undefined, prev: undefined };

export function DataPage() {
  const isWarrants = route.value.parameters.show === "warrants";
  // The command palette leads to an open dialog; the parameter is not kept, so that it opens once.
  const { open: wanted } = route.value.parameters;
  const [open, setOpen] = useState<string>();
  useEffect(() => {
    if (!wanted) return;
    if (asOf.value === undefined && !findObstacle(WRITE)) setOpen(wanted);
    adjust({ open: undefined });
  }, [wanted]);
  const [done, setDone] = useState("");
  return (
    <div>
      <div class="heading">
        <h1>{words.pages.data}</h1>
        <nav class="tabs" aria-label={words.data.kinds}>
          <a href={link("data")} aria-current={isWarrants ? undefined : "page"}>
            {words.pages.objects}
          </a>
          <a href={link("data", { show: "warrants" })} aria-current={isWarrants ? "page" : undefined}>
            {words.pages.warrants}
          </a>
        </nav>
        <div class="actions">
          <Obstacle needs={WRITE} />
          <ChangeButton needs={WRITE} class="quiet" onClick={() => setOpen("file")}>
            {words.data.importFile}
          </ChangeButton>
          <ChangeButton needs={WRITE} class="quiet" onClick={() => setOpen("object")}>
            {words.objects.create}
          </ChangeButton>
          <ChangeButton needs={WRITE} class="primary" onClick={() => setOpen("warrant")}>
            <Icon name="plus" />
            {words.warrants.create}
          </ChangeButton>
        </div>
      </div>
      {done && (
        <Notice>
          <p>{done}</p>
        </Notice>
      )}
      <Numbers turn={done} />
      {isWarrants ? <Warrants turn={done} onDone={setDone} /> : <Objects turn={done} />}
      {open === "object" && <NewObject type={route.value.parameters.type} onClose={() => setOpen(undefined)} />}
      {open === "warrant" && <NewWarrant onDone={setDone} onClose={() => setOpen(undefined)} />}
      {open === "file" && <ImportFile onDone={setDone} onClose={() => setOpen(undefined)} />}
    </div>
  );
}

function Objects({ turn }: { turn: string }) {
  const { type = onlyTypes.value?.[0], q, sort, order, next, prev, at } = route.value.parameters;
  const readPage = (page: PageQuery, signal: AbortSignal) => {
    const query = { objectType: type, q, sortBy: sort, sortOrder: order, asOf: at, ...page };
    return read<Page<StoredObject>>("v2/objects", { query, signal });
  };
  const readLines: ReadLines = async (signal) => {
    const { rows, isCut } = await readAllPages((page) => readPage(page, signal));
    return { lines: writeObjectLines(rows), isCut };
  };
  const loaded = useLoaded(
    (signal) => readPage({ limit: PAGE_SIZE, nextCursor: next, prevCursor: prev }, signal),
    [type, q, sort, order, next, prev, at, turn],
  );
  return (
    <>
      <Filters count={[type, q].filter(Boolean).length}>
        <TypeFilter label={words.terms.type} name="type" value={type} />
        <div class="field">
          <label for="q">{words.terms.contains}</label>
          <input
            id="q"
            type="search"
            value={q ?? ""}
            placeholder={words.data.partOfObject}
            onChange={(event) => adjust({ q: event.currentTarget.value || undefined, ...FIRST_PAGE })}
          />
        </div>
        <Order sorts={{ objectId: words.terms.id, createdAt: words.terms.created }} />
      </Filters>
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {!loaded.value && !loaded.fault && <Busy what={words.data.readingObjects} />}
      {loaded.value?.results.length === 0 && <NoObjects isFiltered={Boolean(type || q)} onLoaded={loaded.reload} />}
      {loaded.value && loaded.value.results.length > 0 && (
        <>
          <ObjectTable objects={loaded.value.results} readLines={readLines} />
          <Pager page={loaded.value} />
        </>
      )}
    </>
  );
}

function NoObjects({ isFiltered, onLoaded }: { isFiltered: boolean; onLoaded: () => void }) {
  if (isFiltered) return <Empty title={words.data.noObject} />;
  if (objectTypes.value?.length === 0) {
    return (
      <Empty title={words.data.noObjects}>
        <p>
          {words.data.noModel(link("model"))}
        </p>
        <ExampleButton onDone={onLoaded} />
      </Empty>
    );
  }
  return (
    <Empty title={words.data.noObjects}>
      <p>{words.data.noObjectsAdvice}</p>
    </Empty>
  );
}

function ObjectTable({ objects, readLines }: { objects: StoredObject[]; readLines: ReadLines }) {
  return (
    <Table label={words.pages.objects} headings={[words.terms.object, words.terms.meta, words.terms.created]} readLines={readLines}>
      {objects.map((object) => (
        <tr key={writeObject(object)}>
          <td>
            <ObjectLink object={object} />
          </td>
          <td class="meta">{describeMeta(object.meta)}</td>
          <td class="time">
            <Time time={object.createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

const completeAnyRelation = completeRelation();

function Warrants({ turn, onDone }: { turn: string; onDone: (message: string) => void }) {
  const parameters = route.value.parameters;
  const { object = "", relation = "", subject = "", order, next, prev, at } = parameters;
  const [given, setGiven] = useState({ object, relation, subject });
  const readPage = (page: PageQuery, signal: AbortSignal) => {
    const named = readObject(object);
    const who = readObject(subject);
    const query = {
      objectType: named?.objectType ?? (object.replace(/:$/, "") || onlyTypes.value?.[0]),
      objectId: named?.objectId,
      relation,
      subjectType: who?.objectType ?? (subject.replace(/:$/, "") || undefined),
      subjectId: who?.objectId,
      sortOrder: order,
      asOf: at,
      ...page,
    };
    return read<Page<Warrant>>("v2/warrants", { query, signal });
  };
  const readLines: ReadLines = async (signal) => {
    const { rows, isCut } = await readAllPages((page) => readPage(page, signal));
    return { lines: writeWarrantLines(rows), isCut };
  };
  const loaded = useLoaded(
    (signal) => readPage({ limit: PAGE_SIZE, nextCursor: next, prevCursor: prev }, signal),
    [object, relation, subject, order, next, prev, at, turn],
  );
  const filter = (changed: Partial<typeof given>) => {
    go("data", { show: "warrants", order, ...given, ...changed });
  };
  const isFiltered = Boolean(object || relation || subject);
  return (
    <>
      <Filters count={[object, relation, subject].filter(Boolean).length} onSubmit={() => filter({})}>
        <CompletedField
          label={words.terms.subject}
          placeholder={words.terms.any}
          value={given.subject}
          complete={completeObject}
          onInput={(text) => setGiven({ ...given, subject: text })}
          onChoose={(text) => filter({ subject: text })}
        />
        <CompletedField
          label={words.terms.relation}
          placeholder={words.terms.any}
          value={given.relation}
          complete={completeAnyRelation}
          onInput={(text) => setGiven({ ...given, relation: text })}
          onChoose={(text) => filter({ relation: text })}
        />
        <CompletedField
          label={words.terms.object}
          placeholder={onlyTypes.value?.[0] ? words.data.anyOf(onlyTypes.value[0]) : words.terms.any}
          value={given.object}
          complete={completeObject}
          onInput={(text) => setGiven({ ...given, object: text })}
          onChoose={(text) => filter({ object: text })}
        />
        <Order sorts={{ createdAt: words.terms.created }} />
        <button type="submit" class="quiet">
          {words.actions.filter}
        </button>
      </Filters>
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {!loaded.value && !loaded.fault && <Busy what={words.data.readingWarrants} />}
      {loaded.value?.results.length === 0 && (
        <Empty title={isFiltered ? words.data.noWarrant : words.data.noWarrants}>
          <p>
            {isFiltered
              ? words.data.noWarrantAdvice
              : words.data.noWarrantsAdvice}
          </p>
        </Empty>
      )}
      {loaded.value && loaded.value.results.length > 0 && (
        <>
          <WarrantTable warrants={loaded.value.results} onDone={onDone} readLines={readLines} />
          <Pager page={loaded.value} />
        </>
      )}
    </>
  );
}

function TypeFilter({ label, name, value }: { label: string; name: string; value: string | undefined }) {
  const types = onlyTypes.value ?? listTypes();
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <select
        id={name}
        value={value ?? ""}
        onChange={(event) => adjust({ [name]: event.currentTarget.value || undefined, ...FIRST_PAGE })}
      >
        {!onlyTypes.value && <option value="">{words.terms.all}</option>}
        {value && !types.includes(value) && <option value={value}>{value}</option>}
        {types.map((type) => (
          <option key={type} value={type}>
            {type}
          </option>
        ))}
      </select>
    </div>
  );
}

function Order({ sorts }: { sorts: Record<string, string> }) {
  const { sort = Object.keys(sorts)[0], order = "ASC" } = route.value.parameters;
  return (
    <div class="field">
      <label for="order">{words.data.order}</label>
      <select
        id="order"
        value={`${sort} ${order}`}
        onChange={(event) => {
          const [by, direction] = event.currentTarget.value.split(" ");
          adjust({ sort: by, order: direction, ...FIRST_PAGE });
        }}
      >
        {Object.entries(sorts).flatMap(([name, title]) => [
          <option key={`${name} ASC`} value={`${name} ASC`}>
            {words.data.ascending(title)}
          </option>,
          <option key={`${name} DESC`} value={`${name} DESC`}>
            {words.data.descending(title)}
          </option>,
        ])}
      </select>
    </div>
  );
}
