import type { Expressions, Resolve } from '../expressions/types.ts'
export type BodyPlan =
  | { kind: 'pass' }
  | { kind: 'rewrite'; ids: readonly string[]; apply(resolve: Resolve): Buffer; decoded: boolean }
export const planBody = (
  body: Buffer,
  _t: string | undefined,
  _e: string | undefined,
  _x: Expressions,
  _l: unknown,
): BodyPlan => {
  const text = body.toString('latin1')
  if (!text.includes('{{')) return { kind: 'pass' }
  const ids = [...text.matchAll(/\{\{\s*([^}]*?)\s*\}\}/g)].map((m) => m[1] as string)
  return {
    kind: 'rewrite',
    ids,
    decoded: false,
    apply: (resolve) =>
      Buffer.from(
        text.replace(/\{\{\s*([^}]*?)\s*\}\}/g, (_, id: string) => String(resolve(id)?.data)),
        'latin1',
      ),
  }
}
