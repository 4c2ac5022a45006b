import t from 'tap'
import { checkCode } from '../../src/kernel/check-code.ts'

t.test('code that parses has no fault, and is not run', async (t) => {
  t.strictSame(checkCode('module.exports = async (req) => { return { raw: await req } }'), [])
  t.strictSame(checkCode('throw new Error("it ran")'), [])
  t.strictSame(checkCode('while (true) {}'), [])
})

t.test('a fault has its place, and says what is wrong', async (t) => {
  t.match(checkCode('let a = ;'), [{ line: 1, column: 9, message: "Unexpected token ';'" }])
  t.match(checkCode('\n\n  const x = {\n'), [{ line: 4, message: 'Unexpected end of input' }])
  t.match(checkCode('}); process.exit(1); (() => {'), [{ line: 1, column: 1 }], 'no way out of the module')
  t.match(checkCode('export default 1'), [{ line: 1 }])
})

t.test('hostile nesting costs nothing', async (t) => {
  for (const code of ['('.repeat(50_000), '[a=>'.repeat(12_000), '`${'.repeat(16_000)])
    t.match(checkCode(code), [{ line: 1, column: 1, message: /nested/ }])
})
