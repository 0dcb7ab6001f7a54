@echo off
rem Starts the Toolcrib that is installed on this machine; a plugin brings none of its own.
if exist "%USERPROFILE%\.local\bin\toolcrib-gateway.exe" (
  "%USERPROFILE%\.local\bin\toolcrib-gateway.exe" %*
  exit /b %ERRORLEVEL%
)
where toolcrib-gateway >nul 2>nul
if errorlevel 1 (
  echo Toolcrib is not installed: uv tool install toolcrib, then start this host again. 1>&2
  exit /b 127
)
toolcrib-gateway %*
