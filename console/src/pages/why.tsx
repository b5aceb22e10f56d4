import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Refused, findObstacle, onlyTypes, read } from "../api";
import { writeCheckCommand, writeCurl, writePythonCheck } from "../commands_elsewhere";
import { completeObject, completeRelation, completeSubject } from "../completion";
import { listRequirements, pathLinks, type Explanation, type Requirement, type Suggestion } from "../explanation";
import { useLoaded, type Loaded } from "../loading";
import { readObject, readSubject } from "../names";
import { showEntered, showRelation } from "../openfga_names";
import { CopyAs, describeService } from "../parts/copy_as";
import { CompletedField } from "../parts/field";
import { FirstSteps, noteFirstCheck } from "../parts/first_steps";
import { Mark } from "../parts/icons";
import { classOfName } from "../parts/names";
import { Busy, Fault, Notice } from "../parts/notice";
import { Path } from "../parts/path";
import { Permitted } from "../parts/permission";
import { Pin } from "../parts/pin";
import { SuggestionCard } from "../parts/suggestion";
import { Tree } from "../parts/tree";
import { adjust, go, link, route } from "../route";
import * as words from "../words";

interface CheckFields {
  subject: string;
  relation: string;
  object: string;
  context: string;
}

export function WhyPage() {
  const { subject = "", relation = "", object = "", context = "", at } = route.value.parameters;
  const entered: CheckFields = { subject, relation, object, context };
  const isComplete = Boolean(subject && relation && object);
  // A key that is limited to object types learns decisions alone.
  const needs = onlyTypes.value ? ({ scope: "check" } as const) : undefined;
  const isRefused = needs !== undefined && findObstacle(needs) !== undefined;
  const loaded = useLoaded(isComplete && !isRefused ? (signal) => explain(entered, at, signal) : undefined, [
    subject,
    relation,
    object,
    context,
    at,
  ]);
  const [done, setDone] = useState("");
  const check = `${object}#${relation}@${subject}`;
  // What was wrong with the check before says nothing about the one that is being written.
  const [isEdited, setEdited] = useState(false);
  useEffect(() => {
    setDone("");
    setEdited(false);
  }, [check, context]);

  return (
    <div class="why">
      <h1>{words.why.title}</h1>
      <Permitted needs={needs}>
        <CheckForm entered={entered} onEdit={setEdited} />
        {done && (
          <Notice>
            <p>{done}</p>
          </Notice>
        )}
        {isEdited && loaded.fault ? null : isComplete ? (
          <Result
            loaded={loaded}
            onDone={() => {
              setDone(words.why.wasChanged);
              loaded.reload();
            }}
          />
        ) : (
          <FirstSteps />
        )}
      </Permitted>
    </div>
  );
}

/** Holds an explanation with its check: while another one is loaded, the one before stays. */
interface Explained {
  entered: CheckFields;
  explanation: Explanation;
  /** Whether the key may know why; one that is limited to object types may not. */
  isExplained: boolean;
}

async function decide(body: { asOf?: string }, signal: AbortSignal): Promise<Explanation> {
  const { asOf, ...warrant } = body;
  const { result } = await read<{ result: string }>("v2/check", { body: { warrants: [warrant], asOf }, signal });
  return { decision: result === "Authorized" ? "allowed" : "denied", check: "", because: { holds: "unknown" }, unknown: [] };
}

async function explain(entered: CheckFields, asOf: string | undefined, signal: AbortSignal): Promise<Explained> {
  const subject = readSubject(entered.subject);
  const object = readObject(entered.object);
  if (!subject) throw new Refused(400, "invalid", words.why.notASubject(entered.subject));
  if (!object) throw new Refused(400, "invalid", words.why.notAnObject(entered.object));
  const body = { ...object, relation: entered.relation, subject, context: readContext(entered.context), asOf };
  if (onlyTypes.value) return { entered, explanation: await decide(body, signal), isExplained: false };
  return { entered, explanation: await read<Explanation>("v2/explain", { body, signal }), isExplained: true };
}

function readContext(text: string): Record<string, unknown> | undefined {
  if (!text.trim()) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // said below
  }
  throw new Refused(400, "invalid", words.refusals.contextNotAnObject);
}

function CheckForm({ entered, onEdit }: { entered: CheckFields; onEdit: (isEdited: boolean) => void }) {
  const [given, setGiven] = useState(entered);
  // Not a plain effect: that would run after the first paint, and undo what was typed by then.
  useLayoutEffect(() => setGiven(entered), [entered.subject, entered.relation, entered.object, entered.context]);
  const hasContext = given.context !== "";

  function change(member: keyof CheckFields) {
    return (value: string) => setGiven((present) => ({ ...present, [member]: value }));
  }

  function submit(changed: Partial<CheckFields>) {
    const fields = { ...given, ...changed };
    onEdit(false);
    if (fields.subject && fields.relation && fields.object) go("why", { ...fields });
  }

  const type = readObject(given.object)?.objectType;
  return (
    <form
      class="check-form card"
      onInput={() => onEdit(true)}
      onSubmit={(event) => {
        event.preventDefault();
        submit({});
      }}
    >
      <div class="sentence">
        <CompletedField
          label={words.terms.subject}
          value={given.subject}
          placeholder={words.examples.subject}
          complete={completeSubject}
          onInput={change("subject")}
          onChoose={(subject) => submit({ subject })}
          isRequired
        />
        <CompletedField
          label={words.terms.relation}
          value={given.relation}
          placeholder={words.why.exampleOfRelation}
          complete={relationsOf(type)}
          onInput={change("relation")}
          onChoose={(relation) => submit({ relation })}
          isRequired
        />
        <CompletedField
          label={words.terms.object}
          value={given.object}
          placeholder={words.examples.object}
          complete={completeObject}
          onInput={change("object")}
          onChoose={(object) => submit({ object })}
          isRequired
        />
        <button type="submit" class="primary">
          {words.why.explain}
        </button>
      </div>
      <details open={hasContext}>
        <summary>{words.why.context}</summary>
        <div class="field">
          <label for="context">{words.why.jsonObject}</label>
          <input
            id="context"
            type="text"
            class="code"
            spellcheck={false}
            placeholder={words.examples.context}
            value={given.context}
            onInput={(event) => change("context")(event.currentTarget.value)}
          />
        </div>
      </details>
    </form>
  );
}

const relationCompletions = new Map<string | undefined, ReturnType<typeof completeRelation>>();

/** Returns one function for each type, so that a field does not complete again each time it is drawn. */
function relationsOf(type: string | undefined) {
  let complete = relationCompletions.get(type);
  if (!complete) relationCompletions.set(type, (complete = completeRelation(type)));
  return complete;
}

interface ResultProperties {
  loaded: Loaded<Explained>;
  onDone: () => void;
}

function Result({ loaded, onDone }: ResultProperties) {
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what={words.why.deciding} />;
  noteFirstCheck();
  const { entered, explanation: value, isExplained } = loaded.value;
  const isAllowed = value.decision === "allowed";
  return (
    <section class={loaded.isLoading ? "result stale" : "result"} aria-live="polite" aria-busy={loaded.isLoading}>
      <div class={`verdict ${isAllowed ? "yes" : "no"}`}>
        <Mark tone={isAllowed ? "yes" : "no"}>{isAllowed ? words.why.allowed : words.why.denied}</Mark>
        <p>
          {words.why.has(
            <span class={classOfName(entered.subject)}>{showEntered(entered.subject)}</span>,
            isAllowed,
            showRelation(entered.relation),
            <span class={classOfName(entered.object)}>{showEntered(entered.object)}</span>,
            entered.context,
          )}
        </p>
        <Pin {...entered} />
      </div>
      {value.unknown.map((text) => (
        <p class="notice" key={text}>
          {text}
        </p>
      ))}
      {isExplained ? (
        <>
          {isAllowed ? <Allowed explanation={value} /> : <Denied explanation={value} entered={entered} onDone={onDone} />}
          <details
            class="card"
            open={route.value.parameters.steps === "all"}
            onToggle={(event) => adjust({ steps: event.currentTarget.open ? "all" : undefined })}
          >
            <summary>
              <h2>{words.why.everyStep}</h2>
            </summary>
            <Tree root={value.because} />
          </details>
          <Elsewhere entered={entered} />
        </>
      ) : (
        <p class="notice">
          {words.why.isLimited}
        </p>
      )}
    </section>
  );
}

function Elsewhere({ entered }: { entered: CheckFields }) {
  const { subject, relation, object } = entered;
  const context = readContext(entered.context);
  const asOf = route.value.parameters.at;
  const check = { subject, relation, object, context, asOf };
  const body = { ...readObject(object), relation, subject: readSubject(subject), context, asOf };
  return (
    <CopyAs
      forms={{
        curl: () => writeCurl(describeService(), "v2/explain", body),
        Python: () => writePythonCheck(describeService(), check),
        [words.copyAs.command]: () => writeCheckCommand(describeService(), check),
      }}
    />
  );
}

function Allowed({ explanation }: { explanation: Explanation }) {
  const links = pathLinks(explanation.path ?? []);
  return (
    <div class="card">
      <h2>{links.length > 1 ? words.why.together : words.why.whatAllows}</h2>
      {links.length > 0 ? (
        <Path links={links} label={words.why.path} />
      ) : (
        <p>{words.why.rulesAlone}</p>
      )}
    </div>
  );
}

const SHOWN_OTHERS = 3;

interface DeniedProperties {
  explanation: Explanation;
  entered: CheckFields;
  onDone: () => void;
}

function Denied({ explanation, entered, onDone }: DeniedProperties) {
  const requirements = listRequirements(explanation);
  const taken = requirements.flatMap((one) => [one.suggestion, ...one.branches.map((branch) => branch.suggestion)]);
  const others = (explanation.wouldAllow ?? []).filter((one) => !taken.includes(one));
  const card = (suggestion: Suggestion, isFirst: boolean) => (
    <SuggestionCard
      key={JSON.stringify(suggestion)}
      suggestion={suggestion}
      check={explanation.check}
      isFirst={isFirst}
      onDone={onDone}
      onContext={(example) => go("why", { ...entered, context: JSON.stringify(mergeContext(entered.context, example)) })}
    />
  );
  return (
    <>
      <div class="card requirements">
        <h2>{words.why.whyNot}</h2>
        {requirements.map((requirement, place) => (
          <RequirementPart key={place} requirement={requirement}>
            {requirement.suggestion && (
              <>
                <h3>{words.why.smallestChange}</h3>
                {card(requirement.suggestion, true)}
              </>
            )}
            {requirement.branches.length > 0 && (
              <details>
                <summary>
                  {words.why.otherBranches(requirement.branches.length)}
                </summary>
                <ul class="branches">
                  {requirement.branches.map((branch) => (
                    <li key={branch.sentence}>
                      <p class="sentence-line">
                        <Mark tone="no">{words.why.missing}</Mark> <span>{branch.sentence}</span>
                      </p>
                      {branch.suggestion && card(branch.suggestion, false)}
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </RequirementPart>
        ))}
      </div>
      {others.length > 0 && (
        <div class="card">
          <h2>{taken.some(Boolean) ? words.why.otherChanges : words.why.anyChange}</h2>
          <div class="suggestions">
            {others.slice(0, SHOWN_OTHERS).map((one) => card(one, false))}
            {others.length > SHOWN_OTHERS && (
              <details>
                <summary>{words.why.showMore(others.length - SHOWN_OTHERS)}</summary>
                {others.slice(SHOWN_OTHERS).map((one) => card(one, false))}
              </details>
            )}
          </div>
          {explanation.complete === false && (
            <p class="hint">{words.why.isCut}</p>
          )}
        </div>
      )}
      {others.length === 0 && !taken.some(Boolean) && (
        <div class="card">
          <h2>{words.why.noChange}</h2>
          <p>
            {words.why.noChangeAdvice(link("model", { of: `${readObject(entered.object)?.objectType}#${entered.relation}` }))}
          </p>
        </div>
      )}
    </>
  );
}

const SIGNS = { met: "yes", missing: "no", excluded: "no", undecided: "unknown" } as const;
const WORDS = { met: words.why.met, missing: words.why.missing, excluded: words.why.excluded, undecided: words.why.unknown };

function RequirementPart({ requirement, children }: { requirement: Requirement; children: preact.ComponentChildren }) {
  const { kind, sentence, links, hidden } = requirement;
  return (
    <section class={`requirement ${kind}`}>
      <p class="sentence-line">
        <Mark tone={SIGNS[kind]}>{WORDS[kind]}</Mark> <span>{sentence}</span>
      </p>
      {links.length > 0 && <Path links={links} label={sentence} />}
      {hidden > 0 && (
        <p class="hint">
          {words.why.moreBranches(hidden)}
        </p>
      )}
      {children}
    </section>
  );
}

function mergeContext(text: string, example: Record<string, unknown>): Record<string, unknown> {
  try {
    return { ...(JSON.parse(text || "{}") as Record<string, unknown>), ...example };
  } catch {
    return example;
  }
}
