import { describePolicy, type Node, type Truth } from "../explanation";
import { readCheck } from "../names";
import { showDistinctRelation, showObject, showSubject, showText } from "../openfga_names";
import { OPERATORS } from "../operators";
import * as words from "../words";
import { Mark, type Tone } from "./icons";
import { WarrantWords } from "./names";

const OPEN_LEVELS = 6;

/** Shows every step of an explanation as a tree that can be opened and closed. */
export function Tree({ root }: { root: Node }) {
  return (
    <ul class="tree">
      <Branch node={root} level={0} />
    </ul>
  );
}

function Branch({ node, level }: { node: Node; level: number }) {
  const children = node.children ?? [];
  if (children.length === 0) {
    return (
      <li>
        <div class="leaf">
          <StepText node={node} />
        </div>
      </li>
    );
  }
  return (
    <li>
      <details open={level < OPEN_LEVELS}>
        <summary>
          <StepText node={node} />
        </summary>
        <ul>
          {children.map((child, place) => (
            <Branch key={place} node={child} level={level + 1} />
          ))}
        </ul>
      </details>
    </li>
  );
}

const WORDS: Record<Tone, string> = { yes: words.steps.yes, no: words.steps.no, unknown: words.terms.unknown };
const PHRASE_OF_SELF = words.steps.isSelf;

function toneOf(holds: Truth): Tone {
  if (holds === "unknown") return "unknown";
  return holds ? "yes" : "no";
}

function describeRule(rule: string | undefined): string | undefined {
  return rule === "self" ? PHRASE_OF_SELF : (OPERATORS[rule ?? ""]?.phrase ?? rule);
}

function StepText({ node }: { node: Node }) {
  const tone = toneOf(node.holds);
  const check = node.check ? readCheck(node.check) : undefined;
  return (
    <>
      <Mark tone={tone}>{WORDS[tone]}</Mark>{" "}
      {check ? (
        <span>
          {words.steps.check(showSubject(check.subject), showDistinctRelation(check.relation), showObject(check))}
        </span>
      ) : (
        <span class="rule">{showText(describeRule(node.rule) ?? node.check ?? "")}</span>
      )}
      {node.via && (
        <span class="via">
          {words.steps.by(<WarrantWords warrant={{ ...node.via, policy: undefined }} />)}
        </span>
      )}
      {node.policy && <span class="via">{showText(describePolicy(node.policy))}</span>}
      {node.outOfForce === "expired" && <span class="via">{words.steps.expiredAt(node.via?.expiresAt)}</span>}
      {node.outOfForce === "notStarted" && <span class="via">{words.steps.startsAt(node.via?.startsAt)}</span>}
      {node.loop && <span class="via">{words.steps.isLoop}</span>}
      {node.cut ? <span class="via">{words.steps.cut(node.cut)}</span> : null}
    </>
  );
}
