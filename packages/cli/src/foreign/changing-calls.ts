/** Tools that only look, by the names that agents of this kind give them. Of a command it is not known. */
const looking: ReadonlySet<string> = new Set(
  (
    'Read Glob Grep LS NotebookRead WebFetch WebSearch TodoWrite TodoRead TaskOutput BashOutput ToolSearch ' +
    'update_plan view_image web_search read_file list_dir grep_files'
  ).split(' '),
)

/** Whether a call may have changed something, by the name of its tool. */
export function changes({ tool }: { readonly tool: string }): boolean {
  return !looking.has(tool)
}
