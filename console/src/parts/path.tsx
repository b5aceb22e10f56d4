import { choosePreposition, type Link } from "../explanation";
import { writeObject, writeSubject } from "../names";
import { Icon } from "./icons";
import { ObjectLink, SubjectLink } from "./names";

/** Draws a path from the subject to the object: a chain of names, joined by the relations of the warrants. */
export function Path({ links, label }: { links: Link[]; label: string }) {
  return (
    <ol class="path" aria-label={label}>
      {links.map((one, place) => (
        <Step key={place} link={one} before={links[place - 1]} />
      ))}
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
      {isJoined && warrant.subject.relation && <span class="sr">{writeSubject(warrant.subject)} </span>}
      <span class="edge">
        {state !== "counts" && <Icon name="no" />}
        <span>
          {isNot ? "is not " : "is "}
          <b>{warrant.relation}</b> {choosePreposition(warrant.relation)}
        </span>
        {condition && <span class="condition">{condition}</span>}
      </span>
      <span class="node">
        <ObjectLink object={warrant} />
      </span>
    </li>
  );
}
