/** The variable that stands for the folder of a plugin, in what it brings. */
export const pluginRoot = 'CLAUDE_PLUGIN_ROOT'
