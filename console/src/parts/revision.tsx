import { useState } from "preact/hooks";
import { onlyTypes, Refused } from "../api";
import { useLoaded } from "../loading";
import { compareLines } from "../model/changed_lines";
import { readModel } from "../model/stored";
import { showMoment } from "../names";
import { findBefore, isModelEvent } from "../revision_reader";
import { asOf, link, route } from "../route";
import { isAccess, toChange, type Revision } from "../timeline";
import * as words from "../words";
import { ChangeLines } from "./change_line";
import { ChangedLines } from "./changed_lines";
import { Gained } from "./gained";
import { Busy, Fault } from "./notice";
import { ChangeButton } from "./permission";
import { RevertDialog, RevertModelDialog } from "./revert";
import { Time } from "./time";

interface Properties {
  revision: Revision;
  /** Whether the list has all changes: then the one before is known. */
  isComplete: boolean;
  onDone: (message: string) => void;
}

type FindBefore = (signal: AbortSignal) => Promise<string>;

/** Shows one change of the history: what it did, what that meant, and how it is reverted. */
export function RevisionPart({ revision, isComplete, onDone }: Properties) {
  const { token, createdAt, actor, events } = revision;
  const isLinked = route.value.parameters.moment === token;
  const [reverts, setReverts] = useState<"data" | "model">();
  const hasModel = events.some(isModelEvent);
  const hasData = events.some((event) => !isModelEvent(event));
  // Warrants first: the objects that are created with them say less.
  const sorted = [...events.filter(isAccess), ...events.filter((event) => !isAccess(event))];
  const find: FindBefore = (signal) => findTokenBefore(revision, isComplete, signal);
  const dialog = { revision, findBefore: find, onDone, onClose: () => setReverts(undefined) };
  const moment = showMoment(createdAt);
  return (
    <li aria-current={isLinked || token === asOf.value ? "time" : undefined}>
      <div class="revision-head">
        <Time time={createdAt} isExact />
        <span class="actor">{actor ?? words.terms.unknown}</span>
        <a href={link("data", { at: token })}>
          {words.history.asOf(moment)}
        </a>
        <a href={link("history", { moment: token, until: createdAt })}>
          {words.history.link(moment)}
        </a>
      </div>
      <ChangeLines changes={sorted.map(toChange)} />
      {revision.isPartial && <p class="hint">{words.history.isPartial(events.length)}</p>}
      {!onlyTypes.value && (
        <>
          <Later title={words.history.whoGained} isFirstOpen={isLinked}>
            <GainedIn find={find} token={token} />
          </Later>
          {hasModel && (
            <Later title={words.history.whatChanged} isFirstOpen={isLinked}>
              <ModelLines find={find} token={token} />
            </Later>
          )}
          <div class="actions small">
            {hasData && (
              <ChangeButton needs={{ scope: "write" }} class="quiet" onClick={() => setReverts("data")}>
                {words.history.revert(moment)}
              </ChangeButton>
            )}
            {hasModel && (
              <ChangeButton needs={{ scope: "model", ofAllTypes: true }} class="quiet" onClick={() => setReverts("model")}>
                {words.history.revertModel(moment)}
              </ChangeButton>
            )}
          </div>
        </>
      )}
      {reverts === "data" && <RevertDialog {...dialog} />}
      {reverts === "model" && <RevertModelDialog {...dialog} />}
    </li>
  );
}

async function findTokenBefore(revision: Revision, isComplete: boolean, signal: AbortSignal): Promise<string> {
  const [event] = revision.events;
  const before = isComplete && !revision.isPartial ? revision.before : event && (await findBefore(event, signal));
  if (before) return before;
  throw new Refused(410, "gone", words.history.isFirst);
}

interface LaterProperties {
  title: string;
  isFirstOpen: boolean;
  children: preact.ComponentChildren;
}

/** Represents a part whose content is loaded when it is opened. */
function Later({ title, isFirstOpen, children }: LaterProperties) {
  const [isOpen, setOpen] = useState(isFirstOpen);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && children}
    </details>
  );
}

function GainedIn({ find, token }: { find: FindBefore; token: string }) {
  const before = useLoaded(find, [token]);
  if (before.fault) return <p class="hint">{before.fault.message}.</p>;
  if (!before.value) return <Busy what={words.effects.comparing} />;
  return <Gained before={before.value} token={token} />;
}

function ModelLines({ find, token }: { find: FindBefore; token: string }) {
  const loaded = useLoaded(
    async (signal) => {
      const [was, is] = await Promise.all([readModel(signal, await find(signal)), readModel(signal, token)]);
      return { lines: compareLines(was.text, is.text) };
    },
    [token],
  );
  if (loaded.fault) return <Fault fault={loaded.fault} />;
  if (!loaded.value) return <Busy what={words.history.comparingModels} />;
  const { lines } = loaded.value;
  if (!lines) return <p class="hint">{words.history.tooLong}</p>;
  return <ChangedLines lines={lines} />;
}
