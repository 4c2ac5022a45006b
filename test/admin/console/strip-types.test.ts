import t from 'tap'
import { stripTypes } from '../../../src/admin/console/strip-types.ts'

t.test('types and documentation comments are left out, and lines stay where they are', async (t) => {
  const source = `/** Adds:
 * two numbers. */
const add = (a: number, b?: Map<string, number>): number => {
  // Inside of a function.
  return a as number
}
type Sum = {
  a: 1
}
const url = 'http://a'`
  t.equal(
    stripTypes(source).replaceAll(/ +/g, ' '),
    `

const add = (a , b ) => {
 // Inside of a function.
 return a
}



const url = 'http://a'`,
  )
})
