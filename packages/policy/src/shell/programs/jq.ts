/** A jq program that reads no modules, no environment and no other input than its files. */
export function isHarmlessJq(program: string): boolean {
  return !/\b(?:import|include|env|ENV|input_filename|get_search_list|modulemeta|halt_error|debug|stderr|\$__loc__)\b/.test(
    // `.env` is a field.
    program.replaceAll(/(?<![.\d])\.[A-Za-z_]+/g, '.x'),
  )
}
