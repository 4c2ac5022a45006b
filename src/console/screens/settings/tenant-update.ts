export interface TenantSettings {
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
}

/** The body of an update that makes the changes of `draft` to `opened` in what is stored `now`. */
export const updateOf = (opened: TenantSettings, draft: TenantSettings, now: TenantSettings): object => {
  const changed = Object.entries(draft.settings).filter(([name, value]) => opened.settings[name] !== value)
  return {
    name: draft.name === opened.name ? now.name : draft.name,
    ...(changed.length === 0 ? {} : { settings: { ...now.settings, ...Object.fromEntries(changed) } }),
  }
}
