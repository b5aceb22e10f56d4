import { useState } from "preact/hooks";
import { choosePreposition, type Link } from "../explanation";
import { writeObject } from "../names";
import { showRelation, showSubject, showText } from "../openfga_names";
import * as words from "../words";
import { Icon } from "./icons";
import { ObjectLink, SubjectLink } from "./names";

/** A path of more links than this is folded in the middle, and this many are shown at each end. */
const MOST_LINKS = 12;
const SHOWN_LINKS = 4;

/** Draws a path from the subject to the object: a chain of names, joined by the relations of the warrants. */
export function Path({ links, label }: { links: Link[]; label: string }) {
  const [isWhole, setWhole] = useState(false);
  const folded = links.length > MOST_LINKS ? links.length - 2 * SHOWN_LINKS : 0;
  const steps = links.map((one, place) => <Step key={place} link={one} before={links[place - 1]} />);
  if (folded === 0) {
    return (
      <ol class="path" aria-label={label}>
        {steps}
      </ol>
    );
  }
  const next = links[links.length - SHOWN_LINKS];
  return (
    <ol class="path" aria-label={label}>
      {steps.slice(0, SHOWN_LINKS)}
      <li class="fold">
        <button type="button" class="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? words.paths.hideSteps(folded) : words.paths.showSteps(folded)}
        </button>
      </li>
      {isWhole && steps.slice(SHOWN_LINKS, -SHOWN_LINKS)}
      {!isWhole && next && <Step link={next} />}
      {steps.slice(isWhole ? -SHOWN_LINKS : 1 - SHOWN_LINKS)}
    </ol>
  );
}

function Step({ link, before }: { link: Link; before?: Link }) {
  const { warrant, state, condition } = link;
  const isJoined = before !== undefined && writeObject(before.warrant) === writeObject(warrant.subject);
  const isNot = state === "missing";
  return (
    <li class={isJoined ? `step ${state} joined` : `step ${state}`}>
      {!isJoined && (
        <span class="node">
          <SubjectLink subject={warrant.subject} />
        </span>
      )}
      {isJoined && warrant.subject.relation && <span class="sr">{showSubject(warrant.subject)} </span>}
      <span class="edge">
        {state !== "counts" && <Icon name="no" />}
        <span>
          {words.paths.step(showRelation(warrant.relation), choosePreposition(showRelation(warrant.relation)), !isNot)}
        </span>
        {condition && <span class="condition">{showText(condition)}</span>}
      </span>
      <span class="node">
        <ObjectLink object={warrant} />
      </span>
    </li>
  );
}
