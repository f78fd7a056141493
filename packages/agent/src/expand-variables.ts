type Environment = Readonly<Record<string, string | undefined>>

/**
 * Replaces `${VAR}` and `${VAR:-default}` in a text. `onUnset` throws for a variable that has neither a value nor a
 * default.
 */
export function expandVariables(text: string, env: Environment, onUnset: (name: string) => never): string {
  return text.replace(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_whole, name: string, otherwise: string | undefined) => {
    // Inherited properties of objects, such as `constructor`, are not variables.
    const value = typeof env[name] === 'string' ? env[name] : undefined
    // As in a shell, `:-` also applies to an empty value.
    if (value !== undefined && (value !== '' || otherwise === undefined)) return value
    return otherwise ?? onUnset(name)
  })
}
