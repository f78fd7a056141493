/** The variable for the plugin's folder in its components. */
export const pluginRoot = 'CLAUDE_PLUGIN_ROOT'
