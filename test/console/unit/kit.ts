import type { Test } from 'tap'
import { loadMetrics, type Metrics } from '../../../src/console/api/metrics.ts'
import type { TemplateResult } from '../../../src/console/kit/html.ts'

/** The markup of a template: its strings and values, one after the other. */
export const markup = (part: unknown): string => {
  if (Array.isArray(part)) return part.map(markup).join('')
  if (typeof part !== 'object' || part === null) return typeof part === 'symbol' ? '' : String(part)
  const { strings, values } = part as TemplateResult
  return strings.map((text, index) => text + markup(values[index] ?? '')).join('')
}

/** Its text. */
export const textOf = (template: TemplateResult): string => markup(template).replaceAll(/<[^>]*>/g, '')

/** Responds to `fetch` with a text, until the test ends. */
export const respondWith = (t: Test, text: string): void => {
  const { fetch } = globalThis
  t.teardown(() => {
    globalThis.fetch = fetch
  })
  globalThis.fetch = async () => new Response(text)
}

export const metricsOf = (t: Test, text: string): Promise<Metrics> => {
  respondWith(t, text)
  return loadMetrics(new AbortController().signal)
}
