/** A call must have a name to be answered: no service takes one without. That there is no such tool is what the model is told. */
export const namelessTool = 'unknown_tool'
