import t from 'tap'
import { parseContainer, parseScope } from '../../src/access/containers.ts'

t.test('a container is stored in lower case', async (t) => {
  t.equal(parseContainer('/PCI/High/'), '/pci/high/')
  t.equal(parseContainer('/a-b/c_d/9/'), '/a-b/c_d/9/')
})

t.test('a container that is not a path of names between slashes is rejected', async (t) => {
  const malformed = [
    '',
    '/',
    '//',
    '/a',
    'a/',
    '/a//b/',
    '/a b/',
    '/ä/',
    '/a/../b/',
    '/a/\n',
    7,
    null,
    undefined,
  ]
  for (const value of [...malformed, ['/a/'], `/${'a'.repeat(400)}/`])
    t.equal(parseContainer(value), undefined)
})

t.test('a scope may be the root and may omit the last slash', async (t) => {
  t.equal(parseScope('/'), '/')
  t.equal(parseScope('/PCI'), '/pci/')
  t.equal(parseScope('/pci/high/'), '/pci/high/')
  for (const value of ['', 'pci', '//', '/a*', null]) t.equal(parseScope(value), undefined)
})
