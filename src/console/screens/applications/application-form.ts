import type { ApiError } from '../../api/client.ts'
import { choiceField } from '../../kit/form.ts'
import { guardField } from '../../kit/guard-modes.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { may } from '../../session.ts'
import { destinationsEditor } from './destinations-editor.ts'
import type { Draft } from './draft.ts'
import { issuesAt, permissionBoxes, textField } from './fields.ts'
import { rulesEditor } from './rules-editor.ts'
import type { PermissionInfo } from './types.ts'

interface ApplicationForm {
  readonly draft: Draft
  /** Permissions that the type of the application may hold. */
  readonly permissions: readonly PermissionInfo[]
  readonly error: ApiError | undefined
  change(part: Partial<Draft>): void
}

/** Fields of a new and of a stored application. */
export const applicationForm = (form: ApplicationForm): TemplateResult => {
  const { draft, permissions, error, change } = form
  const isManagement = draft.type === 'management'
  return html`
    ${textField({
      label: 'Name',
      most: 200,
      value: draft.name,
      error: issuesAt(error, 'name'),
      set: (name) => change({ name }),
    })}
    <h2>Permissions</h2>
    ${
      isManagement
        ? html`<p class="soft">A management application sees no token.</p>`
        : html`<p class="soft">
            They hold in all containers where no rule decides: <em>use</em> reveals to destinations, the others mask.
          </p>`
    }
    ${permissionBoxes({
      isTitled: false,
      available: permissions,
      granted: draft.permissions,
      error: issuesAt(error, 'permissions'),
      note: (type) => (isManagement && !may(type) ? '. Your key does not hold it' : ''),
      set: (next) => change({ permissions: next }),
    })}
    ${
      isManagement
        ? nothing
        : html`<h2>Rules</h2>
            <p class="soft">
              The first rule that covers a token's container and grants the permission decides what is seen.
            </p>
            ${rulesEditor({ rules: draft.rules, permissions, error, change: (rules) => change({ rules }) })}
            <h2>Destinations</h2>
            <p class="soft">Where <code>token:use</code> may send values. Each entry allows one host; lists are separated by commas.</p>
            ${destinationsEditor({
              list: draft.destinations,
              place: 'destinations',
              whose: 'the application',
              error,
              set: (destinations) => change({ destinations }),
            })}
            <h2>Responses</h2>
            ${choiceField({
              ...guardField,
              value: draft.responseGuard,
              error: issuesAt(error, 'response_guard'),
              set: (responseGuard) => change({ responseGuard }),
            })}`
    }
  `
}
