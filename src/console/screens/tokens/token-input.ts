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
export const inputOf = (text: (name: string) => string): object => {
  const container = containerOf(text('containers'))
  const metadata = parseMetadata(text('metadata'))
  return {
    type: text('type'),
    data: typedValue('data', text('data')),
    ...(container === '' ? {} : { containers: [container] }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(text('mask').trim() === '' ? {} : { mask: typedValue('mask', text('mask')) }),
  }
}
