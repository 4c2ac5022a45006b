import t from 'tap'
import { parseScope } from '../../src/common/containers.ts'

t.test('a scope is stored in lower case', async (t) => {
  t.equal(parseScope('/PCI/High/'), '/pci/high/')
  t.equal(parseScope('/a-b/c_d/9/'), '/a-b/c_d/9/')
})

t.test('a scope may be the root and may omit the last slash', async (t) => {
  t.equal(parseScope('/'), '/')
  t.equal(parseScope('/PCI'), '/pci/')
})

t.test('a scope that is not a path of names between slashes is rejected', async (t) => {
  const malformed = [
    '',
    '//',
    'pci',
    'a/',
    '/a//b/',
    '/a b/',
    '/ä/',
    '/a*',
    '/a/../b/',
    '/a/\n',
    7,
    null,
    undefined,
  ]
  for (const value of [...malformed, ['/a/'], `/${'a'.repeat(400)}/`]) t.equal(parseScope(value), undefined)
})
