import { access, onlyTypes } from "../api";
import { Mark } from "../parts/icons";
import { Table } from "../parts/table";
import { store } from "../route";
import { SCOPES } from "../scopes";
import * as words from "../words";

/** Says in words what the key of the session may do. */
export function OwnKey() {
  const key = access.value;
  if (!key) return null;
  return (
    <>
      <p>
        {words.ownKey.signedIn(key.name, store, key.scopes.includes("stores"))}
      </p>
      <p>
        {onlyTypes.value
          ? words.ownKey.isLimited(onlyTypes.value.join(", "))
          : words.ownKey.isOfAllTypes}
      </p>
      <Table label={words.ownKey.title} headings={[words.ownKey.scope, words.ownKey.meaning, words.pages.ownKey]}>
        {Object.entries(SCOPES).map(([scope, meaning]) => (
          <tr key={scope}>
            <td>
              <b>{scope}</b>
            </td>
            <td>{meaning === SCOPES.admin ? words.ownKey.allOfThis : meaning}</td>
            <td>{key.scopes.includes(scope) ? <Mark tone="yes">{words.ownKey.may}</Mark> : <Mark tone="no">{words.ownKey.mayNot}</Mark>}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}
