/** Platforms for which all packages have binaries. */
const SUPPORTED = ['linux-x64', 'linux-arm64', 'darwin-arm64']

/**
 * @param {string} [platform]
 * @returns {string | undefined} why Sidevault cannot run there; undefined: it can
 */
export const whyUnsupported = (platform = `${process.platform}-${process.arch}`) => {
  if (SUPPORTED.includes(platform)) return undefined
  if (platform.startsWith('win32-'))
    return 'Sidevault does not run on Windows. Run it in WSL 2 or as a container.'
  if (platform === 'darwin-x64')
    return 'Sidevault does not run on Macs with Intel processors: isolated-vm has no binary for them. Run it as a container.'
  return `Sidevault does not run on ${platform}. It runs on Linux (x64, arm64) and macOS (arm64).`
}

/**
 * @returns {boolean} whether this is a Linux with musl, such as Alpine. The packages have binaries for it; Envoy and
 * the Node that Sidevault installs have none
 */
export const hasMusl = () => {
  if (process.platform !== 'linux') return false
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport())
  return report.header.glibcVersionRuntime === undefined
}
