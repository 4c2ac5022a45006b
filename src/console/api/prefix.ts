let detectedPrefix = 'SVC'

/** Learns the prefix of the service's headers from a response: each has a trace id. */
export const detectPrefix = (headers: Headers): void => {
  for (const [name] of headers)
    if (name.endsWith('-trace-id')) detectedPrefix = name.slice(0, -'-trace-id'.length).toUpperCase()
}

/** The prefix of the service's headers: `SVC`. */
export const headerPrefix = (): string => detectedPrefix
