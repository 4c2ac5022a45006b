import t from 'tap'
import { stripTypes } from '../../../src/admin/console/strip-types.ts'

t.test(
  'types, blanks around them and documentation comments are left out, and lines stay where they are',
  async (t) => {
    const source = `/** Adds:
 * two numbers. */
const add = (a: number, b?: Map<string, number>): number => {
  // Inside of a function.
  return a! in { '1 ,  2': 0 } ? (a as number) : 0
}
type Sum = {
  a: 1
}
const url = 'http://a'`
    t.equal(
      stripTypes(source),
      `

const add = (a , b ) => {
  // Inside of a function.
  return a in { '1 ,  2': 0 } ? (a ) : 0
}



const url = 'http://a'`,
    )
  },
)
