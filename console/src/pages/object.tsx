import { useState } from "preact/hooks";
import { arrangeAccess } from "../access_matrix";
import { onlyTypes, read } from "../api";
import type { StoredObject } from "../completion";
import { useLoaded } from "../loading";
import { quoteObject, readObject, writeObject, type ObjectName, type Warrant } from "../names";
import { showEntered } from "../openfga_names";
import { Filters } from "../parts/filters";
import { Icon } from "../parts/icons";
import { classOfName } from "../parts/names";
import { Busy, Empty, Fault, Notice } from "../parts/notice";
import { ContextField } from "../parts/context";
import { Pager } from "../parts/pager";
import { ChangeButton, Obstacle, Permitted } from "../parts/permission";
import { AccessMatrix, MatrixLegend } from "../parts/access_matrix";
import { DeleteObject, EditMeta, RenameObject } from "../parts/object_dialogs";
import { NewWarrant } from "../parts/warrant_form";
import { WarrantTable } from "../parts/warrant_table";
import { readRows } from "../query";
import type { QueryRow } from "../query_row";
import { adjust, asOf, link, route } from "../route";
import { objectTypes, type Page } from "../schema";
import { pathOf } from "../stored_object";
import { Time } from "../parts/time";
import * as words from "../words";

const PAGE_SIZE = 50;
/** How many relations of subjects are read before people want more. */
const ROWS_AT_ONCE = 1000;
const BECAUSE = "because";
const WRITE = { scope: "write" } as const;

const TABS = {
  who: words.objects.who,
  what: words.objects.what,
  on: words.objects.on,
  to: words.objects.to,
};
type Tab = keyof typeof TABS;

export function ObjectPage() {
  const { name = "", tab } = route.value.parameters;
  const object = readObject(name);
  const [open, setOpen] = useState<"warrant" | "meta" | "rename" | "delete">();
  const [done, setDone] = useState("");
  if (!object) {
    return (
      <Empty title={words.objects.which}>
        <p>
          {words.objects.whichAdvice(link("data"))}
        </p>
      </Empty>
    );
  }
  const type = objectTypes.value?.find((one) => one.type === object.objectType);
  const hasRelations = type !== undefined && Object.keys(type.relations).length > 0;
  const isUser = object.objectType === "user"; // of a user, people first want to know what it may do
  const shown = tab && tab in TABS ? (tab as Tab) : hasRelations && !isUser ? "who" : "what";
  return (
    <div key={name}>
      <div class="heading">
        <h1>
          <span class={classOfName(name)}>{showEntered(name)}</span>
        </h1>
        <div class="actions">
          <Obstacle needs={WRITE} />
          {object.objectId !== "*" && (
            <>
              <ChangeButton needs={WRITE} class="quiet" onClick={() => setOpen("meta")}>
                {words.objects.editMeta}
              </ChangeButton>
              <ChangeButton needs={WRITE} class="quiet" onClick={() => setOpen("rename")}>
                {words.objects.renameIt}
              </ChangeButton>
              <ChangeButton needs={WRITE} class="quiet" onClick={() => setOpen("delete")}>
                {words.objects.deleteIt}
              </ChangeButton>
            </>
          )}
          <ChangeButton needs={WRITE} class="primary" onClick={() => setOpen("warrant")}>
            <Icon name="plus" />
            {words.warrants.create}
          </ChangeButton>
        </div>
      </div>
      <Stored object={object} turn={done} />
      {done && (
        <Notice>
          <p>{done}</p>
        </Notice>
      )}
      <nav class="tabs" aria-label={words.objects.about}>
        {Object.entries(TABS).map(([each, title]) => (
          <a key={each} href={link("object", { name, tab: each })} aria-current={each === shown ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {shown === "who" || shown === "what" ? (
        <Permitted needs={{ scope: "query" }}>
          <Access object={object} areSubjects={shown === "who"} turn={done} />
        </Permitted>
      ) : (
        <WarrantsOf object={object} isSubject={shown === "to"} turn={done} onDone={setDone} />
      )}
      {open === "warrant" && (
        <NewWarrant
          {...(shown === "who" || shown === "on" ? { object: name } : { subject: name })}
          onDone={setDone}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === "meta" && <EditMeta object={object} onDone={setDone} onClose={() => setOpen(undefined)} />}
      {open === "rename" && <RenameObject object={object} onClose={() => setOpen(undefined)} />}
      {open === "delete" && <DeleteObject object={object} onDone={setDone} onClose={() => setOpen(undefined)} />}
    </div>
  );
}

function Stored({ object, turn }: { object: ObjectName; turn: string }) {
  const path = pathOf(object);
  const isHidden = onlyTypes.value?.includes(object.objectType) === false;
  const loaded = useLoaded(
    isHidden ? undefined : (signal) => read<StoredObject>(path, { query: { asOf: asOf.value }, signal }),
    [path, asOf.value, turn],
  );
  if (isHidden) return <p class="hint">{words.objects.isLimited(onlyTypes.value?.join(", "))}</p>;
  if (loaded.fault?.status === 404) return <p class="hint">{words.objects.notStored}</p>;
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <p class="hint">…</p>;
  const { meta, createdAt } = loaded.value;
  return (
    <>
      <p class="hint">{words.objects.created(<Time time={createdAt} />)}</p>
      {meta && Object.keys(meta).length > 0 && (
        <dl class="meta-list">
          {Object.entries(meta).map(([member, value]) => (
            <div key={member}>
              <dt>{member}</dt>
              <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}

function Access({ object, areSubjects, turn }: { object: ObjectName; areSubjects: boolean; turn: string }) {
  const { context = "" } = route.value.parameters;
  return (
    <>
      <ContextField context={context} />
      <AccessRows object={object} areSubjects={areSubjects} turn={turn} context={context} />
    </>
  );
}

/** Returns the relations of a type in the order of the model. */
function listModelRelations(type: string): string[] {
  return Object.keys(objectTypes.value?.find((one) => one.type === type)?.relations ?? {});
}

interface AccessProperties {
  object: ObjectName;
  areSubjects: boolean;
  turn: string;
  context: string;
}

function AccessRows({ object, areSubjects, turn, context }: AccessProperties) {
  const { at, filter = "", group } = route.value.parameters;
  const [limit, setLimit] = useState(ROWS_AT_ONCE);
  const name = writeObject(object);
  const types = onlyTypes.value?.join(", ") ?? "*";
  const q = areSubjects ? `select * of type * for ${quoteObject(object)}` : `select ${types} where ${quoteObject(object)} is *`;
  const loaded = useLoaded((signal) => readRows(q, context, limit, at, signal), [q, context, at, turn, limit]);
  if (loaded.fault?.status === 404) {
    return <Empty title={words.objects.typeUndefined(object.objectType)} />;
  }
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what={words.objects.findingAccess} />;
  const { rows, isCut } = loaded.value;
  if (rows.length === 0) {
    return <Empty title={areSubjects ? words.objects.nobody(name) : words.objects.nothing(name)} />;
  }
  const typeOf = areSubjects ? () => object.objectType : (row: QueryRow) => row.objectType;
  return (
    <>
      <Filters count={[filter, group].filter(Boolean).length}>
        <div class="field">
          <label for="filter">{words.terms.contains}</label>
          <input id="filter" type="search" value={filter} onInput={(event) => adjust({ filter: event.currentTarget.value })} />
        </div>
        <div class="field">
          <label for="group">{words.objects.groupBy}</label>
          <select id="group" value={group ?? ""} onChange={(event) => adjust({ group: event.currentTarget.value })}>
            <option value="">{words.objects.byNothing}</option>
            <option value={BECAUSE}>{words.objects.byReason}</option>
          </select>
        </div>
      </Filters>
      <MatrixLegend />
      {arrangeAccess(rows, typeOf, listModelRelations).map((matrix) => (
        <AccessMatrix
          key={matrix.objectType}
          matrix={matrix}
          fixed={name}
          areSubjects={areSubjects}
          context={context}
          filter={filter}
          isGrouped={group === BECAUSE}
        />
      ))}
      {isCut && (
        <div class="actions">
          <p class="hint">{words.objects.more(rows.length)}</p>
          <button type="button" class="quiet" disabled={loaded.isLoading} onClick={() => setLimit(limit + ROWS_AT_ONCE)}>
            {words.actions.showMore}
          </button>
        </div>
      )}
    </>
  );
}

interface WarrantsProperties {
  object: ObjectName;
  isSubject: boolean;
  turn: string;
  onDone: (message: string) => void;
}

function WarrantsOf({ object, isSubject, turn, onDone }: WarrantsProperties) {
  const { next, prev, at } = route.value.parameters;
  const named = isSubject
    ? { subjectType: object.objectType, subjectId: object.objectId }
    : { objectType: object.objectType, objectId: object.objectId };
  const only = isSubject ? { objectType: onlyTypes.value?.[0] } : {};
  const loaded = useLoaded(
    (signal) => {
      const query = { ...only, ...named, limit: PAGE_SIZE, nextCursor: next, prevCursor: prev, asOf: at };
      return read<Page<Warrant>>("v2/warrants", { query, signal });
    },
    [writeObject(object), isSubject, next, prev, at, turn],
  );
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what={words.data.readingWarrants} />;
  if (loaded.value.results.length === 0) return <Empty title={words.objects.noWarrants} />;
  return (
    <>
      <WarrantTable warrants={loaded.value.results} onDone={onDone} />
      <Pager page={loaded.value} />
    </>
  );
}
