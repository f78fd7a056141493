type Environment = Readonly<Record<string, string | undefined>>

/** The text with `${VAR}` and `${VAR:-default}` put in. `onUnset` throws for a variable that is not set and has no default. */
export function expandVariables(text: string, env: Environment, onUnset: (name: string) => never): string {
  return text.replace(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_whole, name: string, otherwise: string | undefined) => {
    // What every object has, such as a constructor, is no variable.
    const value = typeof env[name] === 'string' ? env[name] : undefined
    // As in a shell: `:-` stands in for what is empty too.
    if (value !== undefined && (value !== '' || otherwise === undefined)) return value
    return otherwise ?? onUnset(name)
  })
}
