/** Code that a new reactor or formula begins with. */
export const SAMPLE = `module.exports = async ({ args, configuration }) => ({
  raw: { received: Object.keys(args) },
})
`
