import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { ensureDemoCertificate } from '../../src/supervisor/demo-certificate.ts'
import { directoryFor } from '../kit/directory.ts'

t.test('the demo certificate is reused, and recreated when any part of it is damaged', async (t) => {
  const directory = directoryFor(t)
  const now = Date.now()
  const ensured = async () => {
    const files = await ensureDemoCertificate(directory, now)
    return { files, texts: Object.values(files).map((path) => readFileSync(path, 'utf8')) }
  }
  const { files, texts } = await ensured()
  t.same((await ensured()).texts, texts)
  let [before] = texts
  for (const path of Object.values(files)) {
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, 60))
    const [authority] = (await ensured()).texts
    t.not(authority, before, path)
    before = authority
  }
})
