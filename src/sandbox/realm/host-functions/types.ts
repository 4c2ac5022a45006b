/** A host function on JSON values. It may throw; the code then gets an error. */
export type HostFunction = (...args: never[]) => unknown

export type HostFunctions = Readonly<Record<string, HostFunction>>

/** Bytes as a text and its encoding. */
export type Wire = readonly [text: string, encoding: string]
