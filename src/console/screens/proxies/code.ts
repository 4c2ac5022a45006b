import { button } from '../../kit/button.ts'
import { codeForm } from '../../kit/code-form.ts'
import { choiceField } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { signal } from '../../kit/signals.ts'
import { may } from '../../session.ts'
import { type ProxyPage, type StoredProxy, TRANSFORM_KINDS, TRANSFORMS } from './types.ts'

const SAMPLE = `module.exports = async ({ args, configuration }) => ({
  body: args.body,
  headers: args.headers,
})
`

const MEMBERS = TRANSFORM_KINDS.map((kind) => ({
  place: `${kind}.code`,
  label: TRANSFORMS[kind],
  codeOf: (proxy: StoredProxy) => proxy[kind]?.code ?? '',
}))

/** Editors of a proxy's transforms. */
export const codeSection = (page: ProxyPage): (() => TemplateResult) => {
  const now = () => page.stored.value.response_transform?.otherwise ?? 'fail'
  /** Undefined: as stored. */
  const chosen = signal<'fail' | 'pass' | undefined>(undefined)
  const isChanged = () => chosen.value !== undefined && chosen.value !== now()
  return codeForm(page, {
    members: MEMBERS,
    check: '/proxies/check-code',
    permission: 'proxy:update',
    patchOf: (codes) => {
      const transforms: Record<string, object | null> = {}
      for (const [place, code] of codes)
        transforms[place.replace('.code', '')] = code === '' ? null : { code }
      if (isChanged() && transforms.response_transform !== null)
        transforms.response_transform = { ...transforms.response_transform, otherwise: chosen.peek() }
      return transforms
    },
    more: {
      isChanged,
      reset: () => {
        chosen.value = undefined
      },
      view: ([request, response]) => {
        const isReadonly = !may('proxy:update')
        if (response?.text.value !== '')
          return choiceField<'fail' | 'pass'>({
            label: 'A successful response that is neither JSON nor a form',
            disabled: isReadonly,
            value: chosen.value ?? now(),
            choices: [
              ['fail', 'fails with 502'],
              ['pass', 'goes to the caller unchanged'],
            ],
            set: (otherwise) => {
              chosen.value = otherwise
            },
          })
        return request?.text.value !== '' || isReadonly
          ? nothing
          : html`<p class="soft">
              No code: requests and responses pass as they are.
              ${button('Begin with a sample', () => {
                request.text.value = SAMPLE
              })}
            </p>`
      },
    },
  })
}
