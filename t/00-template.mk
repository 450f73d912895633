00-template_EXTRA := supervisor/template
