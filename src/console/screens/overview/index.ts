import { select } from '../../kit/form.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import type { Screen, ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { may } from '../../session.ts'
import { createCalls, MINUTES, minutesOf } from './calls.ts'
import { createNode } from './node.ts'
import { outageOf } from './outage.ts'

const withoutCalls = (): TemplateResult => html`<div class="empty">
  <p>Calls are shown to keys that have <code>log:read</code>. Add a management key to see them.</p>
</div>`

const open = (context: ScreenContext): ScreenInstance => {
  const { filters, setFilters, signal } = context
  const node = createNode(signal)
  const calls = may('log:read') ? createCalls(context) : undefined

  const span = (): TemplateResult => html`<label class="inline"
    >Last
    ${select({
      value: String(minutesOf(filters.value)),
      choices: MINUTES.map((minutes) => [String(minutes), `${minutes} minutes`]),
      set: (minutes) => setFilters({ minutes }),
    })}
  </label>`

  return {
    ...(calls === undefined ? {} : { actions: span }),
    view: () => {
      const outage = outageOf([node.node, ...(calls?.sources ?? [])])
      return html`${node.notices(calls?.notices() ?? [], outage)}
        <div class=${outage === undefined ? 'overview' : 'overview outdated'}>
          <section aria-labelledby="calls">
            <h2 id="calls">Calls</h2>
            ${calls === undefined ? withoutCalls() : calls.course()}
          </section>
          <div class="columns">
            ${
              calls === undefined
                ? html``
                : html`<section class="card" aria-labelledby="disclosures">
                    <h2 id="disclosures">Disclosures by destination, 24 hours</h2>
                    ${calls.disclosures()}
                  </section>`
            }
            <section class="card" aria-labelledby="node">
              <h2 id="node">This node</h2>
              ${node.facts()}
            </section>
          </div>
          <section class="card" aria-labelledby="components">
            <h2 id="components">Components</h2>
            ${node.components(outage !== undefined)}
          </section>
        </div>`
    },
  }
}

export const overviewScreens: readonly Screen[] = [
  { path: '/overview', title: 'Overview', nav: 'Overview', needs: () => true, open },
]
