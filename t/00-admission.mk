00-admission_EXTRA := supervisor/admission_book supervisor/admission_spec
00-readiness-script_EXTRA := supervisor/readiness_script
