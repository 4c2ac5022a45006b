/** Only what this service serves may load or be called; templates become elements through lit-html alone. */
const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types lit-html',
].join('; ')

/** Headers of the index, and what applies to it. */
export const INDEX_HEADERS = {
  'content-security-policy': CONSOLE_POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'accelerometer=(), camera=(), clipboard-read=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()',
} as const

/**
 * `index.html` with the URLs of its files, and a preload of each module. `later`: those that the first view does not
 * need; they do not delay it.
 */
export const indexPage = (
  text: string,
  base: string,
  { paths, later }: { readonly paths: readonly string[]; readonly later: ReadonlySet<string> },
): string => {
  const modules = paths.filter((path) => /\.(?:ts|js|mjs)$/.test(path) && path !== 'main.ts')
  const links = modules.map(
    (path) =>
      `<link rel="modulepreload" href="${base}${path}"${later.has(path) ? ' fetchpriority="low"' : ''} />`,
  )
  return text
    .replaceAll(/(?<=\b(?:href|src)=")(?=[a-z])/g, base)
    .replace('</head>', `${links.join('\n    ')}\n  </head>`)
}
