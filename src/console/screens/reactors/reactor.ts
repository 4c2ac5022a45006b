import { path } from '../../api/client.ts'
import { codeCheck } from '../../kit/code-check.ts'
import { configurationForm } from '../../kit/configuration-form.ts'
import { copyable } from '../../kit/copy.ts'
import { deletion } from '../../kit/deletion.ts'
import { action, formProblem, issue } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { masked } from '../../kit/masked.ts'
import { notice } from '../../kit/notice.ts'
import { problem } from '../../kit/problem.ts'
import { resource, show } from '../../kit/resource.ts'
import type { Screen, ScreenContext } from '../../kit/screen.ts'
import { section } from '../../kit/section.ts'
import { type ReadonlySignal, signal } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { confirmReplacing, storedCode } from '../../kit/stored-code.ts'
import { when } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { runSection } from './run.ts'
import { settingsSection } from './settings.ts'
import type { Reactor } from './types.ts'

/** One open reactor, for the sections of its page. */
export interface ReactorPage {
  readonly context: ScreenContext
  readonly reactor: ReadonlySignal<Reactor>
  fresh(): Promise<Reactor>
  /** Merges the changes (RFC 7386) into the stored reactor, and loads it. */
  patch(changes: object): Promise<void>
}

const pageOf = (context: ScreenContext, first: Reactor): ReactorPage => {
  const reactor = signal(first)
  const where = path`/reactors/${first.id}`
  const fresh = () => context.api.call<Reactor>('GET', where, { signal: context.signal })
  return {
    context,
    reactor,
    fresh,
    patch: async (changes) => {
      await context.api.call('PATCH', where, { body: changes })
      reactor.value = await fresh()
      context.title(reactor.value.name)
    },
  }
}

const facts = ({ reactor }: ReactorPage): (() => TemplateResult) => {
  const key = masked('callback key')
  return () => {
    const { id, formula, application, callback_key, created_at, modified_at } = reactor.value
    return html`<dl class="facts">
        <dt>Code</dt>
        <dd>${formula === undefined ? 'its own' : html`<a href=${link`/formulas/${formula.id}`}>${formula.name}</a>`}</dd>
        <dt>Acts as</dt>
        <dd>
          ${application === undefined ? html`<span class="soft">its caller</span>` : html`<a href=${link`/applications/${application.id}`}>${application.name}</a>`}
        </dd>
        <dt>Callback key</dt>
        <dd>${key(callback_key)}</dd>
        <dt>Id</dt>
        <dd>${copyable(id)}</dd>
        <dt>Changed</dt>
        <dd>${when(modified_at ?? created_at)}</dd>
      </dl>
      <div class="buttons">
        <span class="soft">A call of it</span> ${snippet('POST', path`/reactors/${id}/react`, { body: { args: {} } })}
        <span class="soft">This reactor in the API</span> ${snippet('GET', path`/reactors/${id}`)}
      </div>`
  }
}

const codeSection = ({ context, reactor, fresh, patch }: ReactorPage): (() => TemplateResult) => {
  const code = storedCode(
    { id: `reactor-${reactor.peek().id}`, label: 'Code' },
    () => reactor.value.code ?? '',
    context.signal,
  )
  const check = codeCheck({
    ...context,
    path: '/reactors/check-code',
    body: () => (code.text.value === '' ? undefined : { code: code.text.value }),
  })
  const save = action(async () => {
    if (!(await check.confirm())) return
    if (!(await confirmReplacing([{ code, now: (await fresh()).code ?? '' }]))) return
    try {
      await patch({ code: code.value() })
    } catch (thrown) {
      check.learn(thrown)
      throw thrown
    }
    notice('done', 'Code saved. It runs from the next call on.')
  })
  return () => {
    const isReadonly = !may('reactor:update')
    return html`${formProblem(save.error.value, ['code'])}
      <form @submit=${save.run}>
        ${code.view({ problems: check.problems('code'), error: issue(save.error.value, 'code'), readonly: isReadonly })}
        ${
          isReadonly
            ? nothing
            : html`<div class="buttons">
                <button class="primary" ?disabled=${!code.isChanged.value || save.busy.value}>Save code</button>
                ${
                  code.isChanged.value
                    ? html`<button type="button" @click=${code.discard}>Discard changes</button>
                        <span class="soft">Not saved yet</span>`
                    : nothing
                }
              </div>`
        }
      </form>`
  }
}

const sections = (page: ReactorPage): (() => TemplateResult) => {
  const { reactor, patch } = page
  const hasFields = (reactor.peek().formula?.configuration.length ?? 0) > 0
  const code = reactor.peek().formula === undefined ? codeSection(page) : undefined
  const run = may('token:use') ? runSection(page) : undefined
  const [summary, settings] = [facts(page), settingsSection(page)]
  const configuration = configurationForm({
    id: 'configuration',
    stored: () => reactor.value.configuration,
    save: (changes) => patch({ configuration: changes }),
    isReadonly: !may('reactor:update'),
  })
  return () => html`<div class="sections">
    <div>${summary()}</div>
    ${code === undefined ? nothing : section('code', 'Code', code())}
    ${run === undefined ? nothing : section('run', 'Run', run())}
    ${section('settings', 'Settings', settings())}
    ${hasFields ? nothing : section('configuration-title', 'Configuration', configuration())}
  </div>`
}

export const reactorScreen: Screen = {
  path: '/reactors/:id',
  title: 'Reactor',
  needs: (may) => may('reactor:read'),
  open: (context) => {
    const { id = '' } = context.params
    const where = path`/reactors/${id}`
    const loaded = resource(async (abort) => {
      const reactor = await context.api.call<Reactor>('GET', where, { signal: abort })
      context.title(reactor.name)
      const page = pageOf(context, reactor)
      return { page, view: sections(page) }
    }, context.signal)
    const remove = deletion(context, {
      what: 'Reactor',
      path: where,
      back: '#/reactors',
      body: 'Calls of it fail from now on.',
      of: () => loaded.value.peek()?.page.reactor.peek(),
    })
    return {
      actions: () =>
        loaded.value.value !== undefined && may('reactor:delete')
          ? html`<button type="button" class="danger" ?disabled=${remove.busy.value} @click=${remove.run}>Delete</button>`
          : html``,
      view: () =>
        html`${remove.error.value === undefined ? nothing : problem(remove.error.value)}
        ${show(loaded, ({ view }) => view())}`,
    }
  },
}
