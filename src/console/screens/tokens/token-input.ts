import { parseJson } from '../../kit/json.ts'
import { invalid } from './form-dialog.ts'
import { parseMetadata } from './metadata-text.ts'
import { containerOf } from './query.ts'

/** JSON where it looks so, else a text; an expression is a text. Throws `invalid`. */
const typedValue = (member: string, text: string): unknown => {
  if (!/^\s*(?:\{(?!\{)|[["])/.test(text)) return text.trim()
  const { value, error } = parseJson(text)
  if (error !== undefined) throw invalid(member, error)
  return value
}

/** The body of `POST /tokens` from the controls of the form. Throws `invalid`. */
export const inputOf = (of: (name: string) => string): object => {
  const container = containerOf(of('containers'))
  const metadata = parseMetadata(of('metadata'))
  return {
    type: of('type'),
    data: typedValue('data', of('data')),
    ...(container === '' ? {} : { containers: [container] }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(of('mask').trim() === '' ? {} : { mask: typedValue('mask', of('mask')) }),
  }
}
