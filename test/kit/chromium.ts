import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'
import { atProcessEnd } from './process-end.ts'
import { root } from './sources.ts'
import { toolEnvironment } from './tools.ts'

/** Open Sans comes with the package. Installed fonts add a monospaced one. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  <alias binding="strong"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="strong"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`

/** Unpacks to `os.tmpdir()`, so it runs in a process with a TMPDIR of its own. */
const UNPACK = `import chromium from '@sparticuz/chromium'; await chromium.executablePath()`

/**
 * The folder with the package's Chromium, unpacked into `.cache/` on first use. Of several test processes that unpack
 * at the same time, the first rename wins.
 */
const unpacked = async (): Promise<string> => {
  const manifest = join(root, 'node_modules/@sparticuz/chromium/package.json')
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  const folder = join(root, '.cache/chromium', version)
  if (existsSync(folder)) return folder
  const fresh = `${folder}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', UNPACK], {
    cwd: root,
    env: { ...toolEnvironment(root), TMPDIR: fresh },
  })
  writeFileSync(join(fresh, 'fonts/fonts.conf'), FONTS)
  try {
    renameSync(fresh, folder)
  } catch {
    rmSync(fresh, { recursive: true, force: true })
  }
  return folder
}

const INSTALLED = ['/usr/bin/chromium', '/usr/bin/chromium-browser']

/** Programs to try, in order: the one of `SIDEVAULT_TEST_CHROMIUM`, or the package's and then installed ones. */
async function* programs(): AsyncGenerator<string> {
  const chosen = process.env.SIDEVAULT_TEST_CHROMIUM
  if (chosen) return yield chosen
  yield join(await unpacked(), 'chromium')
  yield* INSTALLED.filter((path) => existsSync(path))
}

const launch = async (executablePath: string, chromiumSandbox: boolean): Promise<Browser> => {
  const fonts = join(dirname(executablePath), 'fonts')
  const env = {
    ...toolEnvironment(root),
    XDG_CACHE_HOME: join(root, '.cache'),
    ...(existsSync(fonts) ? { FONTCONFIG_PATH: fonts } : {}),
  }
  return chromium.launch({ executablePath, chromiumSandbox, env })
}

/**
 * Chromium runs without its sandbox only where it has none: as root, whom it rejects, and in containers that forbid
 * user namespaces. It only opens pages of this project.
 */
const SANDBOXES = userInfo().uid === 0 ? [false] : [true, false]

const start = async (): Promise<Browser> => {
  const failures: string[] = []
  for await (const program of programs())
    for (const sandbox of SANDBOXES)
      try {
        return await launch(program, sandbox)
      } catch (error) {
        failures.push(`${program}: ${(error as Error).message}`)
      }
  throw new Error(
    `No Chromium starts on this machine. Install one (Debian: apt-get install chromium), or set SIDEVAULT_TEST_CHROMIUM to its path.\n${failures.join('\n')}`,
  )
}

let running: Promise<Browser> | undefined

/** The Chromium that all test files of this process share. Each page has a context of its own (browser.ts). */
export const browser = (): Promise<Browser> => {
  if (running === undefined) {
    running = start()
    atProcessEnd(async () => (await running)?.close())
  }
  return running
}
